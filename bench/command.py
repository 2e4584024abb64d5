"""The common command-line parts of all benches that run a stack."""

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

_console = Console(stderr=True, highlight=False)
_begun = time.monotonic()


def say(what: str) -> None:
    _console.print(f"[dim]{time.monotonic() - _begun:5.0f} s  {what} …[/]")


def at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def run_bench(measure: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Measure and print, then exit. On Ctrl-C and SIGTERM, everything is stopped and removed first.

    A bench that is also a test raises SystemExit with the faults.
    """
    code = 0
    try:
        asyncio.run(_interruptible(measure))
    except (KeyboardInterrupt, asyncio.CancelledError):
        say("interrupted; everything was stopped and removed")
        code = 130
    except SystemExit as verdict:
        say(str(verdict))
        code = 1
    sys.stdout.flush()
    # The SDK's threads sometimes crash a normal interpreter exit; all clean-up is done by now.
    os._exit(code)


async def _interruptible(measure: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """SIGTERM cancels it, as Ctrl-C does, so that nothing is left behind."""
    task = asyncio.current_task()
    assert task is not None, "this is a coroutine of asyncio.run"
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await measure()


def open_table(title: str, *, width: int = 150) -> tuple[Console, Table]:
    """A console and a table for it; plain text if there is no terminal."""
    console = Console(highlight=False)
    plain = not console.is_terminal
    if plain:  # without a terminal Rich assumes 80 columns
        console = Console(highlight=False, width=width, soft_wrap=True)
    return console, Table(title=title, title_justify="left", box=box.ASCII if plain else box.HEAVY_HEAD)
