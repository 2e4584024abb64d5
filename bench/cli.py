"""The cost of commands before they answer: CPU seconds of listings and of completions.

    python -m bench.cli [--runs 5]

The stack is running but empty: this measures the start of a command, not the size of its answer.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.command import at_least_one, open_table, run_bench, say
from bench.stack import BenchStack, open_stack
from fascicle.storage.database import transaction
from fascicle.storage.series import library

LIMIT_SECONDS = 0.35
_RUNS = 5
_USER = "ann"
_LISTINGS = (
    "source list", "feed list", f"inbox {_USER}", f"library list {_USER}", f"notifications {_USER}",
    "post list", "fic list", "request list", "dead-letters list", "dead-letters counts", "account list",
    "automation list", "sale list", "run list", "user list", "site list", "schedule list", "status", "config",
)  # fmt: skip
_COMPLETIONS = {
    "bash": "fascicle source ",
    "zsh": "fascicle feed list --",
    "fish": "fascicle so",
}


@dataclass(frozen=True)
class CommandCost:
    command: str
    cpu_seconds: float
    """User and system, the median of the runs."""
    times_python: float
    """As a multiple of `python -c pass`, measured in the same minute."""

    @property
    def within_limit(self) -> bool:
        return self.cpu_seconds <= LIMIT_SECONDS


async def measure_commands(stack: BenchStack, runs: int = _RUNS) -> list[CommandCost]:
    """Measure in the stack's environment. The first run of each compiles modules and does not count."""
    async with transaction(stack.dependencies.engine) as connection:
        if await library.find_user(connection, _USER) is None:
            await library.add_user(connection, _USER)
    return await asyncio.to_thread(_measure, stack.supervisor.folder, runs)


def _measure(folder: Path, runs: int) -> list[CommandCost]:
    fascicle = [sys.executable, "-m", "starter.main"]
    bare = _cpu_of([sys.executable, "-c", "pass"], folder, {}, runs)
    costs = {name: _cpu_of([*fascicle, *name.split()], folder, {}, runs) for name in _LISTINGS}
    for shell, words in _COMPLETIONS.items():
        # A shell asks the program for a completion under its own name.
        program = [
            sys.executable,
            "-c",
            "import sys; sys.argv = ['fascicle']; from starter.main import main; main()",
        ]
        costs[f"TAB in {shell}: {words}"] = _cpu_of(program, folder, _asked_by(shell, words), runs)
    return [CommandCost(name, seconds, seconds / bare) for name, seconds in costs.items()]


def _asked_by(shell: str, words: str) -> dict[str, str]:
    """The variables by which each shell asks for a completion."""
    return {
        "_FASCICLE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }


def _cpu_of(argv: Sequence[str], folder: Path, environment: Mapping[str, str], runs: int) -> float:
    seconds = [_once(argv, folder, environment) for _ in range(runs + 1)]
    return median(seconds[1:])


def _once(argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=folder, env={**os.environ, **environment}, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_costs(costs: Sequence[CommandCost]) -> None:
    console, table = open_table(f"CPU seconds of a command; at most {LIMIT_SECONDS:g} are wanted")
    for heading in ("command", "CPU s", "times python -c pass", "within"):
        table.add_column(heading, justify="left" if heading == "command" else "right")
    for cost in costs:
        table.add_row(
            cost.command,
            f"{cost.cpu_seconds:.3f}",
            f"{cost.times_python:.1f}",
            "yes" if cost.within_limit else "no",
        )
    console.print(table)


async def _bench(runs: int) -> None:
    say("starting PostgreSQL, Temporal and a worker")
    async with open_stack() as stack, stack.worker():
        say(f"{len(_LISTINGS)} listings and {len(_COMPLETIONS)} completions, {runs} times each")
        costs = await measure_commands(stack, runs)
    print_costs(costs)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what commands cost before they answer.")
    parser.add_argument("--runs", type=at_least_one, default=_RUNS)
    arguments = parser.parse_args()
    run_bench(lambda: _bench(arguments.runs))


if __name__ == "__main__":
    main()
