"""`make bench`: how near a first sync comes to the raw database, and what an idle poll costs.

python -m bench.ingest [--series 100] [--chapters 200] [--polls-seconds 10]
"""

import argparse
import asyncio
import os
import signal
import sys

from rich.console import Console

from bench.limit import measure_limit
from bench.polls import measure_idle_polls, rhythms
from bench.report import Results, print_report
from bench.stack import open_stack
from bench.sync import measure_first_sync, register_sources

_console = Console(stderr=True, highlight=False)


async def measure(series: int, chapters: int, polls_seconds: float) -> Results:
    _say("starting PostgreSQL, Temporal and the simulator")
    async with open_stack() as stack:
        _say(f"making {series} series of {chapters} chapters and starting a worker")
        await register_sources(stack, series, chapters)
        async with stack.worker(**rhythms(series)):
            _say("first sync")
            sync = await measure_first_sync(stack, series, chapters)
            _say("the same rows again with asyncpg alone")
            limit = await measure_limit(stack)
            _say("idle polls")
            paced, saturated = await measure_idle_polls(stack, polls_seconds)
            _say("stopping")
    return Results(limit, sync, paced, saturated)


def main() -> None:
    options = _options()
    code = 0
    try:
        results = asyncio.run(_interruptible(options))
        print_report(results, options.series, options.chapters)
    except (KeyboardInterrupt, asyncio.CancelledError):
        _say("interrupted; everything was stopped and removed")
        code = 130
    sys.stdout.flush()
    # The SDK's threads sometimes abort an orderly interpreter exit; all clean-up is done by now.
    os._exit(code)


async def _interruptible(options: argparse.Namespace) -> Results:
    """SIGTERM ends it as Ctrl-C does: by cancellation, so that nothing is left behind."""
    task = asyncio.current_task()
    assert task is not None, "this is a coroutine of asyncio.run"
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await measure(options.series, options.chapters, options.polls_seconds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("--series", type=_at_least_one, default=100)
    parser.add_argument("--chapters", type=_at_least_one, default=200)
    parser.add_argument("--polls-seconds", type=_at_least_one, default=10, help="for each of two paces")
    return parser.parse_args()


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _say(what: str) -> None:
    _console.print(f"[dim]{what} …[/]")


if __name__ == "__main__":
    main()
