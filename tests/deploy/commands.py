"""Command lines of the deployment, read by the programs they are for; nothing is run."""

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from typer.main import get_command

import worker
from starter.main import app


def check_command(words: Sequence[str]) -> None:
    """Raises what the program would: an unknown command, option or queue."""
    match list(words):
        case ["fascicle", *arguments]:
            _check_fascicle(arguments)
        case ["python", "-P", "-m", "worker", *arguments]:
            _check_worker(arguments)
        case ["python", "-P", "-m", module, *_]:
            assert find_spec(module), f"no module {module}"
        case other:
            raise AssertionError(f"not one of our programs: {other}")


def _check_fascicle(arguments: list[str]) -> None:
    command: Any = get_command(app)
    context = command.make_context("fascicle", [], resilient_parsing=True)
    while arguments != ["--help"] and hasattr(command, "resolve_command"):
        name, command, arguments = command.resolve_command(context, arguments)
        is_group = hasattr(command, "resolve_command")
        context = command.make_context(
            name, [] if is_group else list(arguments), parent=context, resilient_parsing=is_group
        )


def _check_worker(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--queues", type=worker._queues)
    assert parser.parse_known_args(arguments)[1] == []
