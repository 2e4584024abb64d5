"""How often a source is looked at (C2)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

WARM_AFTER = timedelta(days=7)
COLD_AFTER = timedelta(days=30)


class Cadence(StrEnum):
    HOT = "HOT"
    WARM = "WARM"
    COLD = "COLD"

    @property
    def priority_key(self) -> int:
        """Temporal's priority: 1 goes first."""
        return {Cadence.HOT: 1, Cadence.WARM: 3, Cadence.COLD: 5}[self]


def cadence_of(*, last_new_at: datetime | None, now: datetime, pinned: Cadence | None = None) -> Cadence:
    """A new chapter makes a source HOT, seven quiet days WARM, thirty COLD; a pin overrides."""
    if pinned is not None:
        return pinned
    if last_new_at is None:
        return Cadence.HOT  # not synced yet: a first sync that failed must not wait for a day
    if now - last_new_at >= COLD_AFTER:
        return Cadence.COLD
    return Cadence.WARM if now - last_new_at >= WARM_AFTER else Cadence.HOT


def poll_delay(cadence: Cadence, intervals: Mapping[Cadence, timedelta], spread: float) -> timedelta:
    """The interval of a cadence, moved by up to ±10 %: `spread` is a random number from -1 to 1."""
    return intervals[cadence] * (1 + 0.1 * max(-1.0, min(1.0, spread)))
