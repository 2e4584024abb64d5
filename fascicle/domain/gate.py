"""Arithmetic of the gate: how far apart the requests to one site or account are kept."""

from dataclasses import dataclass
from datetime import datetime

EASE = 0.9
BACK_OFF = 2.0


@dataclass(frozen=True)
class GatePolicy:
    """`floor` is the shortest distance between two requests, `ceiling` what failures may stretch it to.

    `jitter` lengthens each distance by up to that share. `refusals` in a row for coming too often open the
    circuit for `open_seconds`; the first request after that is the probe. 0: no circuit.
    """

    floor: float
    ceiling: float = 300.0
    jitter: float = 0.0
    refusals: int = 0
    open_seconds: float = 300.0


def opens(refusals: int, policy: GatePolicy) -> bool:
    return 0 < policy.refusals <= refusals


def after_failure(delay: float, policy: GatePolicy) -> float:
    return max(policy.floor, min(policy.ceiling, delay * BACK_OFF))


def circuit(refusals: int, open_until: datetime | None, now: datetime, policy: GatePolicy) -> str:
    """`open`: nobody goes there; `half_open`: the next request is the probe; else `closed`."""
    if open_until is not None and open_until > now:
        return "open"
    return "half_open" if open_until is not None and opens(refusals, policy) else "closed"
