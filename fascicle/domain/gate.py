"""Arithmetic of the gate: how far apart the requests to one site or account are kept."""

from dataclasses import dataclass, replace
from datetime import datetime

EASE = 0.9
BACK_OFF = 2.0
_LEAST_LATENESS, _MOST_LATENESS = 1.0, 5.0


@dataclass(frozen=True)
class GatePolicy:
    """`floor` is the shortest distance between two requests, `ceiling` what failures may stretch it to.

    `jitter` lengthens each distance by up to that share, `think` by so many seconds at least and at most.
    So many `refusals` in a row, for too many requests, open the circuit for `open_seconds`; the first request
    after that is the probe. So many `failures` in a row of any kind open it too. 0: no circuit.

    `lease`: only one request is on its way at a time, and the distance counts from its end. The gate waits so
    many seconds for a request that never returns; this must be longer than a request can take. 0: distances
    count from start to start, and the next request may overtake a slow one. `lateness` is how much later than
    its slot a request with a lease may start.
    """

    floor: float
    ceiling: float = 300.0
    jitter: float = 0.0
    refusals: int = 0
    open_seconds: float = 300.0
    failures: int = 0
    think: tuple[float, float] = (0.0, 0.0)
    lease: float = 0.0
    lateness: float = _MOST_LATENESS

    def stretch(self, draw: float) -> float:
        return 1 + self.jitter * draw

    def thinking(self, draw: float) -> float:
        least, most = self.think
        return least + (most - least) * draw

    @property
    def usual_distance(self) -> float:
        """The distance to expect of a gate that no failure has widened."""
        return self.floor * self.stretch(0.5) + self.thinking(0.5)


@dataclass(frozen=True)
class Slot:
    """If `granted`, send the request after `seconds`; else ask again after `seconds`."""

    granted: bool
    seconds: float
    reason: str | None = None
    strained: bool = False
    """The distance is wider than the floor: report the outcome, so that the gate can narrow it."""
    by_hand: bool = False
    """A person paused the site."""
    turn: int = 0
    """With a lease: the number to name when the request returns."""


def one_at_a_time(policy: GatePolicy, longest: float) -> GatePolicy:
    """The policy with a lease for requests that take `longest` seconds at most. The margin for late starts
    depends on the floor: five seconds for AO3, less for a server of your own."""
    lateness = max(_LEAST_LATENESS, min(_MOST_LATENESS, policy.floor / 4))
    return replace(policy, lease=longest + 2 * lateness, lateness=lateness)


def gate_family(name: str) -> str:
    """The family of a gate: `feed:example.org` is one of the family `feed`."""
    return name.partition(":")[0]


def opens(refusals: int, policy: GatePolicy) -> bool:
    return 0 < policy.refusals <= refusals


def cools_down(failures: int, policy: GatePolicy) -> bool:
    return 0 < policy.failures <= failures


def after_failure(delay: float, policy: GatePolicy) -> float:
    return max(policy.floor, min(policy.ceiling, delay * BACK_OFF))


def circuit(refusals: int, open_until: datetime | None, now: datetime, policy: GatePolicy) -> str:
    """`open`: no request is sent; `half_open`: the next request is the probe; else `closed`."""
    if open_until is not None and open_until > now:
        return "open"
    return "half_open" if open_until is not None and opens(refusals, policy) else "closed"
