"""The circuit breaker of a source (C10): five failed polls open it, one good probe closes it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True)
class BreakerPolicy:
    threshold: int = 5
    probe_after: timedelta = timedelta(hours=24)


@dataclass(frozen=True)
class BreakerState:
    circuit: Circuit = Circuit.CLOSED
    failures: int = 0
    probe_at: datetime | None = None


def after_failure(state: BreakerState, policy: BreakerPolicy, now: datetime) -> BreakerState:
    failures = state.failures + 1
    # A failed probe opens it again at once: half-open is one probe, not a fresh start.
    if failures >= policy.threshold or state.circuit is not Circuit.CLOSED:
        return BreakerState(Circuit.OPEN, failures, now + policy.probe_after)
    return BreakerState(Circuit.CLOSED, failures)


def at_poll(state: BreakerState, now: datetime) -> BreakerState:
    """The state a poll starts in: an open circuit whose time has come lets one probe through."""
    if state.circuit is Circuit.OPEN and (state.probe_at is None or now >= state.probe_at):
        return BreakerState(Circuit.HALF_OPEN, state.failures, state.probe_at)
    return state
