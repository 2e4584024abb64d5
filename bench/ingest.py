"""`make bench`: how near a first sync comes to the raw database, and what an idle poll costs.

python -m bench.ingest [--series 100] [--chapters 200] [--polls-seconds 10]
"""

import argparse

from bench.command import at_least_one, run_bench, say
from bench.limit import measure_limit
from bench.polls import measure_idle_polls, rhythms
from bench.report import Results, print_report
from bench.stack import open_stack
from bench.sync import measure_first_sync, register_sources


async def measure(series: int, chapters: int, polls_seconds: float) -> Results:
    say("starting PostgreSQL, Temporal and the simulator")
    async with open_stack() as stack:
        say(f"making {series} series of {chapters} chapters and starting a worker")
        await register_sources(stack, series, chapters)
        async with stack.worker(**rhythms(series)):
            say("first sync")
            sync = await measure_first_sync(stack, series, chapters)
            say("the same rows again with asyncpg alone")
            limit = await measure_limit(stack)
            say("idle polls")
            paced, saturated = await measure_idle_polls(stack, polls_seconds)
            say("stopping")
    return Results(limit, sync, paced, saturated)


def main() -> None:
    options = _options()

    async def run() -> None:
        results = await measure(options.series, options.chapters, options.polls_seconds)
        print_report(results, options.series, options.chapters)

    run_bench(run)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("--series", type=at_least_one, default=100)
    parser.add_argument("--chapters", type=at_least_one, default=200)
    parser.add_argument("--polls-seconds", type=at_least_one, default=10, help="for each of two paces")
    return parser.parse_args()


if __name__ == "__main__":
    main()
