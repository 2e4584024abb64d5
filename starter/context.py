"""How a command reaches the running stack, and how its errors become exit codes."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from sqlalchemy.exc import DBAPIError
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import FascicleError, PermanentError, UsageError
from fascicle.runtime.dependencies import Dependencies, open_dependencies
from fascicle.runtime.embedded import EmbeddedError, read_running_stack
from fascicle.runtime.logs import configure_logs
from fascicle.runtime.settings import Settings, load_settings
from fascicle.runtime.temporal import connect, names_a_server
from starter.output import print_error, print_json

_UNDEFINED_TABLE = "42P01"
# Published by a stack whose keys are in its environment, where other shells do not see them.
KEYS_ARE_SET = "token_keys"
_SILENT = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)


@dataclass(frozen=True)
class Reach:
    """What most commands need."""

    dependencies: Dependencies
    client: Client


# Worker and commands must mean the same files.
_STACKS_OWN = ("FASCICLE_DATA_DIR", "FASCICLE_FILES_DIR")


def demo_folder(data_dir: Path) -> Path:
    """The demo keeps its data apart, beside the real thing."""
    return data_dir.with_name(data_dir.name + "-demo")


def running_stack(data_dir: Path) -> dict[str, str | int] | None:
    """The embedded stack that runs on this data folder, or else its demo."""
    return read_running_stack(data_dir) or read_running_stack(demo_folder(data_dir))


def effective_settings() -> Settings:
    """Settings as the running stack has them: it publishes its environment; what is set here wins.

    But for its folders: the data folder set here may be the demo's neighbour, the files' may be relative.
    """
    settings = load_settings()
    is_news = _take_over(running_stack(settings.data_dir) or {})
    return load_settings() if is_news else settings


def _take_over(published: dict[str, str | int]) -> bool:
    """Whether that changed our environment."""
    wanted = {
        name: str(value)
        for name, value in published.items()
        if name.isupper() and (name in _STACKS_OWN or not os.environ.get(name))
    }
    is_news = any(os.environ.get(name) != value for name, value in wanted.items())
    os.environ.update(wanted)
    return is_news


def temporal_is_named() -> bool:
    """Whether the environment or a profile file says where Temporal is."""
    try:
        return names_a_server()
    except RuntimeError as error:
        raise UsageError("wrong_setting", f"Temporal's own settings are wrong: {error}.") from error


@asynccontextmanager
async def database_only() -> AsyncIterator[Dependencies]:
    settings = effective_settings()
    if settings.database_url is None:
        raise _nothing_runs(settings)
    async with usable_dependencies(settings) as dependencies:
        yield dependencies


@asynccontextmanager
async def usable_dependencies(settings: Settings) -> AsyncIterator[Dependencies]:
    """`open_dependencies`, with a database's refusal told in our words."""
    try:
        async with open_dependencies(settings) as dependencies:
            yield dependencies
    except DBAPIError as error:
        raise _refused_by_database(error) from error


@asynccontextmanager
async def reach() -> AsyncIterator[Reach]:
    """The database and Temporal, or an error that says which of them is missing."""
    async with database_only() as dependencies:
        if not temporal_is_named():
            raise _nothing_runs(dependencies.settings)
        yield Reach(dependencies, await connect())


def run(command: Callable[[], Coroutine[Any, Any, None]], *, as_json: bool = False) -> None:
    """Run a command's coroutine; errors are told in a sentence: exit 2 for wrong usage, 1 for a failure.

    `as_json`: our own errors also as JSON on stdout, for programs that read nothing else.
    """
    # A command speaks for itself, and stdout is for what was asked; the log is the worker's.
    configure_logs("ERROR", "console")
    logging.getLogger("apprise").setLevel(logging.CRITICAL)
    try:
        asyncio.run(command())
    except FascicleError as error:
        _say(error.code, error.message, as_json)
        fail(error.message, 2 if isinstance(error, UsageError) else 1)
    except EmbeddedError as error:
        _say("not_started", str(error), as_json)
        fail(str(error), 1)
    except RPCError as error:
        _say("temporal_refused", refusal(error), as_json)
        fail(refusal(error), 1)
    except KeyboardInterrupt:
        fail("interrupted", 130)


def check_is_text(given: str) -> None:
    """What a terminal could not decode, and what PostgreSQL cannot hold."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise UsageError("wrong_usage", "That is not valid UTF-8 text.") from None
    if "\0" in given:
        raise UsageError("wrong_usage", "Names have no zero bytes.")


def _say(code: str, reason: str, as_json: bool) -> None:
    if as_json:
        print_json({"error_code": code, "reason": reason})


def fail(message: str, code: int) -> None:
    print_error(message)
    raise typer.Exit(code)


def refusal(error: RPCError) -> str:
    """What Temporal said, and what to do about it."""
    if error.status in _SILENT:
        return f"Temporal does not answer ({error.message}). Is it up? See `fascicle doctor`."
    if error.status == RPCStatusCode.NOT_FOUND and "namespace" in error.message.lower():
        return f"{error.message} Set TEMPORAL_NAMESPACE to one that exists."
    return f"Temporal refused: {error.message}"


def _nothing_runs(settings: Settings) -> FascicleError:
    if stack := running_stack(settings.data_dir):
        return FascicleError(
            "starting",
            f"`fascicle up` (process {stack.get('pid', '?')}) is still starting on {settings.data_dir}. "
            "Try again in a few seconds.",
        )
    return FascicleError(
        "not_running",
        f"Nothing is running on {settings.data_dir}. Start it with `fascicle up` (`make up` for the demo), "
        "or set DATABASE_URL and TEMPORAL_ADDRESS.",
    )


def _refused_by_database(error: DBAPIError) -> PermanentError:
    if getattr(error.orig, "sqlstate", None) == _UNDEFINED_TABLE:
        return PermanentError(
            "no_schema", "The database has no tables of ours yet: run `fascicle db upgrade`."
        )
    reason = str(error.orig).splitlines()[0].split(">: ")[-1]
    return PermanentError("database_refused", f"The database refuses: {reason}. Check DATABASE_URL.")
