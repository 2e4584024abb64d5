"""How soon releases are found and what it costs: learned times against fixed intervals and the plain rule.

python -m bench.cadence [--seeds 3]    (about ten seconds)

A simulation without database or network: nothing but a clock and the rules of
fascicle/domain/series/cadence.py.
"""

import argparse
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import quantiles

from rich import box
from rich.console import Console
from rich.table import Table

from bench.release_histories import BEGIN, END, HISTORIES, Release, releases_of
from fascicle.domain.series.cadence import Cadence, cadence_of, plan_next_check, poll_delay

INTERVALS = {
    Cadence.HOT: timedelta(minutes=15),
    Cadence.WARM: timedelta(hours=4),
    Cadence.COLD: timedelta(hours=24),
}
_LATEST = 30
_AIM = 0.25

_NOTES = """\
Each history: a year, after half a year that is known from the first sync; clocks go to summer time and back.
Delay: from a release's first chapter to the look that finds it. A request is one look; looks are jittered by
up to a tenth. "of 15 min": the requests in proportion to those of a fixed 15-minute poll.
The aim: a median delay no longer than that of the 15-minute poll, for at most a quarter of its requests.
It is silent about p90 and worst: an early release, or the return from a hiatus, is found later than by a
15-minute poll. "All together" pools all releases, so that daily ones weigh most in its delays.
Where releases follow no pattern (Poisson) nothing is learned and the plain rule holds: the aim is out of
reach there, since whoever looks a quarter as often waits four times as long."""


@dataclass
class Outcome:
    delays: list[timedelta] = field(default_factory=list)
    requests: int = 0

    def add(self, other: "Outcome") -> None:
        self.delays += other.delays
        self.requests += other.requests

    def delay(self, percent: int) -> timedelta:
        cuts = quantiles([delay.total_seconds() for delay in self.delays], n=100)
        return timedelta(seconds=cuts[percent - 1])

    @property
    def requests_per_release(self) -> float:
        return self.requests / len(self.delays)


NextLook = Callable[[datetime, Sequence[datetime], datetime, float], datetime]
"""Takes now, the releases found so far, the time of the last find, and a random number from -1 to 1."""


def every(interval: timedelta) -> NextLook:
    return lambda now, releases, last_new_at, spread: now + interval * (1 + 0.1 * spread)


def by_plain_rule(
    now: datetime, releases: Sequence[datetime], last_new_at: datetime, spread: float
) -> datetime:
    return now + poll_delay(cadence_of(last_new_at=last_new_at, now=now), INTERVALS, spread)


def by_learning(
    now: datetime, releases: Sequence[datetime], last_new_at: datetime, spread: float
) -> datetime:
    plan = plan_next_check(
        now=now,
        releases=releases,
        last_new_at=last_new_at,
        intervals=INTERVALS,
        pinned=None,
        spread=spread,
    )
    return plan.next_check_at


_FIXED = "fixed 15 min"
_LEARNED = "learned"
STRATEGIES: dict[str, NextLook] = {
    _FIXED: every(timedelta(minutes=15)),
    "fixed 1 h": every(timedelta(hours=1)),
    "fixed 4 h": every(timedelta(hours=4)),
    "plain C2": by_plain_rule,
    _LEARNED: by_learning,
}


def simulate(releases: Sequence[Release], next_look: NextLook, seed: int) -> Outcome:
    rng = random.Random(seed)
    chapters = sorted((time, time == release[0]) for release in releases for time in release)
    known = [time for time, _ in chapters if time < BEGIN][-_LATEST:]
    waiting = deque(chapter for chapter in chapters if chapter[0] >= BEGIN)
    now, last_new_at, outcome = BEGIN, known[-1], Outcome()
    while now < END or waiting:
        outcome.requests += 1
        while waiting and waiting[0][0] <= now:
            time, is_first = waiting.popleft()
            last_new_at = now
            known = [*known, time][-_LATEST:]
            if is_first:
                outcome.delays.append(now - time)
        now = next_look(now, known, last_new_at, rng.uniform(-1, 1))
    return outcome


def measure(seeds: int) -> dict[str, dict[str, Outcome]]:
    """Outcomes by history, then by strategy; several made-up years of each history together."""
    measured: dict[str, dict[str, Outcome]] = {}
    for name, history in HISTORIES.items():
        measured[name] = {strategy: Outcome() for strategy in STRATEGIES}
        for seed in range(seeds):
            releases = releases_of(history, seed)
            for strategy, next_look in STRATEGIES.items():
                measured[name][strategy].add(simulate(releases, next_look, seed))
    measured["all together"] = {strategy: Outcome() for strategy in STRATEGIES}
    for name in HISTORIES:
        for strategy, outcome in measured[name].items():
            measured["all together"][strategy].add(outcome)
    return measured


def print_report(measured: dict[str, dict[str, Outcome]], seeds: int) -> None:
    console = Console(highlight=False)
    plain = not console.is_terminal
    if plain:  # without a terminal Rich assumes 80 columns
        console = Console(highlight=False, width=130, soft_wrap=True)
    table = Table(
        title=f"{seeds} years of each history",
        title_justify="left",
        box=box.ASCII if plain else box.HEAVY_HEAD,
    )
    for column in ("history", "looks"):
        table.add_column(column)
    for column in ("median delay", "p90", "worst", "requests per release", "of 15 min", "aim"):
        table.add_column(column, justify="right")
    for name, by_strategy in measured.items():
        fixed = by_strategy[_FIXED]
        for strategy, outcome in by_strategy.items():
            aim = _verdict(outcome, fixed) if strategy == _LEARNED else ""
            table.add_row(name if strategy == _FIXED else "", strategy, *_cells(outcome, fixed), aim)
        table.add_section()
    console.print(table)
    console.print(_NOTES)


def _cells(outcome: Outcome, fixed: Outcome) -> tuple[str, ...]:
    delays = (_length(d) for d in (outcome.delay(50), outcome.delay(90), max(outcome.delays)))
    return *delays, f"{outcome.requests_per_release:.0f}", f"{outcome.requests / fixed.requests:.0%}"


def _verdict(learned: Outcome, fixed: Outcome) -> str:
    cheap = learned.requests <= _AIM * fixed.requests
    prompt = learned.delay(50) <= fixed.delay(50)
    if cheap and prompt:
        return "reached"
    return "missed: both" if not cheap and not prompt else f"missed: {'delay' if cheap else 'requests'}"


def _length(delay: timedelta) -> str:
    minutes = delay.total_seconds() / 60
    return f"{minutes:.1f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cadence", description=__doc__)
    parser.add_argument(
        "--seeds", type=int, choices=range(1, 101), metavar="N", default=3, help="years of each history"
    )
    seeds = parser.parse_args().seeds
    print_report(measure(seeds), seeds)


if __name__ == "__main__":
    main()
