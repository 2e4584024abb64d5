"""Commands that are imported when they are called: importing all of them takes two seconds."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from typer import Typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class LazyCommand(TyperCommand):
    """Stands in for a command or group in the help; `load` imports the real one.

    `place` is module:name, of a function or of a Typer.
    """

    def __init__(self, name: str, place: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self.place = place

    def load(self) -> Any:
        module, _, member = self.place.partition(":")
        found = getattr(import_module(module), member)
        command = get_group(found) if isinstance(found, Typer) else _command_of(found)
        command.name = self.name
        return command


def _command_of(function: Callable[..., None]) -> Any:
    app = Typer(add_completion=False)  # only the whole program has the completion options
    app.command()(function)
    return get_command(app)


def lazy_group(lazy: Iterable[LazyCommand]) -> type[TyperGroup]:
    """A class for Typer's `cls`: a group of these commands."""
    commands = {str(command.name): command for command in lazy}

    class LazyGroup(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**{**attributes, "commands": {**attributes["commands"], **commands}})

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name, command, rest = super().resolve_command(ctx, args)
            return name, command.load() if isinstance(command, LazyCommand) else command, rest

    return LazyGroup
