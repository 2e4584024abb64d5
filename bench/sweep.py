"""What the sweep saves: a day of 10,000 followed series, by per-source polling and by the sweep (C16).

python -m bench.sweep [--series 10000] [--releases 200] [--minutes 10]

A day is compressed into some minutes: every interval is divided by the same number. Twice the same day on the
same stack: first without the sweep, each source by its own learned timer; then with it.
"""

import argparse
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import ceil

from bench.books import (
    Followed,
    add_to_the_site,
    in_parallel,
    start_workflows,
    stop_workflows,
    write_books,
)
from bench.command import at_least_one, run_bench, say
from bench.followed_series import FollowedSeries, make_followed_series
from bench.planned import DayClock, PlannedDay, first_look, plan_a_day, plan_a_day_of_sweeping
from bench.scaled_day import MeasuredDay, Release, live_through
from bench.stack import BenchStack, open_stack
from bench.sweep_report import Comparison, print_report
from fascicle.domain.names import sweep_workflow_id
from fascicle.services.series.onboarding import ensure_sweep
from fascicle.settings.settings import Settings
from fascicle.sites.mangadex import NAME

# Polls per second at which a small machine still makes every poll in time.
_PACE = 20
# A small machine takes 15 ms to start a workflow, and as long again for its first task.
_STARTS_PER_SECOND = 30
_BOOKS_PER_SECOND = 400
_SCALED = (
    *("cadence_hot_seconds", "cadence_warm_seconds", "cadence_cold_seconds", "sweep_seconds"),
    *("sweep_overlap_seconds", "sweep_net_hours", "complete_listing_hours", "breaker_probe_hours"),
    "notify_delay_seconds",
)


async def measure(series: int, releases: int, minutes: int) -> Comparison:
    say("planning the day")
    followed = make_followed_series(series, releases)
    planned, by_plain_rule = plan_a_day(followed), plan_a_day(followed, learning=False)
    sample = choose_sample(followed, planned, _PACE * minutes * 60)
    speed = 1440 / minutes
    say("starting PostgreSQL, Temporal and the simulator")
    # The server takes at least a second for a timer; this is divided too.
    shift = {"history.timerProcessorMaxTimeShift": f'"{ceil(1000 / speed)}ms"'}
    async with open_stack(shift) as stack:
        say(f"filling the site with {series} series")
        await add_to_the_site(stack, _books(followed, DayClock(datetime.now(UTC), speed), swept=False))
        async with stack.worker(**_scaled_settings(stack.dependencies.settings, speed), sweep=False):
            polling, made = await _day_of_polling(stack, followed, sample, speed)
        await in_parallel(made, lambda r: stack.simulator.withdraw(r.site_key, r.upload_id))
        async with stack.worker(**_scaled_settings(stack.dependencies.settings, speed)):
            sweep = await _day_of_sweeping(stack, followed, speed)
            say("stopping")
    planned_sweep = plan_a_day_of_sweeping(series, releases, stack.dependencies.settings)
    return Comparison(followed, speed, by_plain_rule, planned, planned_sweep, polling, sweep)


def choose_sample(
    followed: Sequence[FollowedSeries], planned: PlannedDay, most_polls: float
) -> dict[str, float]:
    """The series that are really polled, with the number of series that each stands for.

    They are all series with a release, for the delays, and as many others as the machine can poll in time.
    """
    releasing = [one for one in followed if one.release is not None]
    quiet = sorted((one for one in followed if one.release is None), key=lambda one: one.kind)
    left = most_polls - sum(planned.looks[one.site_key] for one in releasing)
    wanted = sum(planned.looks[one.site_key] for one in quiet)
    if wanted and left <= wanted / len(quiet):
        raise SystemExit("These releases are too many for so short a day: give it more --minutes.")
    chosen = quiet[:: max(1, ceil(wanted / left))]
    weights = {one.site_key: len(quiet) / len(chosen) for one in chosen}
    return weights | {one.site_key: 1.0 for one in releasing}


async def _day_of_polling(
    stack: BenchStack, followed: Sequence[FollowedSeries], weights: dict[str, float], speed: float
) -> tuple[MeasuredDay, list[Release]]:
    say(f"opening {len(weights)} sources that keep their own time")
    clock = _clock(len(followed), len(weights), speed)
    books = _books(followed, clock, swept=False)
    await write_books(stack, books)
    polled = [one for one in books if one.site_key in weights]
    await start_workflows(stack, [one.source_id for one in polled])
    _check_start(clock)
    say(f"a day of polling, at {speed:.0f} times its speed")
    measured = await live_through(stack, clock, followed, polled, weights)
    await stop_workflows(stack, [one.source_id for one in polled])
    return measured


async def _day_of_sweeping(
    stack: BenchStack, followed: Sequence[FollowedSeries], speed: float
) -> MeasuredDay:
    say(f"opening {len(followed)} sources and a sweep")
    clock = _clock(len(followed), len(followed), speed)
    books = _books(followed, clock, swept=True)
    await write_books(stack, books)
    await start_workflows(stack, [one.source_id for one in books])
    await ensure_sweep(stack.dependencies, stack.client, NAME)
    _check_start(clock)
    say(f"a day of sweeping, at {speed:.0f} times its speed")
    measured, _ = await live_through(stack, clock, followed, books, {one.site_key: 1.0 for one in followed})
    await stack.client.get_workflow_handle(sweep_workflow_id(NAME)).terminate("the bench is over")
    return measured


def _clock(series: int, sources: int, speed: float) -> DayClock:
    """A day that begins when all rows are written and all sources are started and asleep."""
    seconds = 10 + series / _BOOKS_PER_SECOND + sources / _STARTS_PER_SECOND
    return DayClock(datetime.now(UTC) + timedelta(seconds=seconds), speed)


def _check_start(clock: DayClock) -> None:
    late = (datetime.now(UTC) - clock.begin).total_seconds()
    if late > 0:
        say(f"opening them took {late:.0f} s longer than planned: the day begins with a backlog")


def _books(followed: Sequence[FollowedSeries], clock: DayClock, *, swept: bool) -> list[Followed]:
    rng = random.Random(0)
    defaults = Settings(database_url=None)
    listing = timedelta(hours=defaults.sweep_net_hours if swept else defaults.complete_listing_hours)
    books = []
    for one in followed:
        look = first_look(one, clock)
        since_listing = clock.scaled(listing) * rng.random()
        net = clock.begin + clock.scaled(listing) - since_listing
        books.append(
            Followed(
                site_key=one.site_key,
                title=one.title,
                published=clock.releases(one),
                cadence=look.cadence,
                last_new_at=clock.last_new_at(one),
                complete_listing_at=clock.begin - since_listing,
                # While the sweep works, a source looks by itself only once per `sweep_net_hours`.
                next_check_at=net if swept else look.next_check_at,
            )
        )
    return books


def _scaled_settings(defaults: Settings, speed: float) -> dict[str, float]:
    return {name: getattr(defaults, name) / speed for name in _SCALED}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sweep", description=__doc__)
    parser.add_argument("--series", type=at_least_one, default=10_000)
    parser.add_argument("--releases", type=at_least_one, default=200, help="in the day")
    parser.add_argument("--minutes", type=at_least_one, default=10, help="how long a day takes")
    options = parser.parse_args()

    async def run() -> None:
        print_report(await measure(options.series, options.releases, options.minutes))

    run_bench(run)


if __name__ == "__main__":
    main()
