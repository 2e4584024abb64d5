"""How exactly a gate was kept, by the slots that the database gave and the requests that the site saw."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

# The database's clock counts microseconds.
_CLOCK = 1e-6
# A process may send its request late, so requests may be this much nearer without a fault of the gate.
NEAR = 0.9


@dataclass(frozen=True)
class Distances:
    interval: float
    between: list[float]
    """The seconds from each instant to the next."""

    @property
    def count(self) -> int:
        return len(self.between)

    @property
    def closest(self) -> float:
        return min(self.between, default=float("nan"))

    @property
    def longest(self) -> float:
        return max(self.between, default=float("nan"))

    @property
    def mean(self) -> float:
        return fmean(self.between) if self.between else float("nan")

    @property
    def used(self) -> float:
        """The share of the permitted rate that was used."""
        return self.interval / self.mean

    def nearer_than(self, share: float) -> int:
        """The number of distances below this share of the interval, ignoring the clock's last digit."""
        return sum(distance < share * self.interval - 2 * _CLOCK for distance in self.between)


@dataclass(frozen=True)
class GateWatch:
    """The slots and requests of many sources at one gate."""

    slots: Distances
    requests: Distances
    asked: int
    wanted: int
    twice: int
    """Pages that were requested more than once."""
    without_slot: int
    killed: bool

    @property
    def faults(self) -> list[str]:
        """Events that must never happen. The jitter of requests on a busy machine is not one of them."""
        found = []
        if early := self.slots.nearer_than(1.0):
            found.append(f"{early} slots nearer than the interval")
        if self.without_slot:
            found.append(f"{self.without_slot} requests without a slot")
        if self.asked < self.wanted:
            found.append(f"{self.wanted - self.asked} pages never asked for")
        if self.twice and not self.killed:
            found.append(f"{self.twice} pages asked for twice")
        return found


def watch_gate(
    interval: float,
    slots: Sequence[float],
    requests: Sequence[tuple[float, str]],
    wanted: int,
    *,
    killed: bool = False,
) -> GateWatch:
    """`slots`: instants; `requests`: instants and pages; `wanted`: the number of pages to request."""
    pages = Counter(page for _, page in requests)
    return GateWatch(
        slots=_distances(interval, slots),
        requests=_distances(interval, [at for at, _ in requests]),
        asked=len(pages),
        wanted=wanted,
        twice=sum(times > 1 for times in pages.values()),
        without_slot=max(0, len(requests) - len(slots)),
        killed=killed,
    )


def _distances(interval: float, instants: Sequence[float]) -> Distances:
    return Distances(interval, [after - before for before, after in pairwise(sorted(instants))])
