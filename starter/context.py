"""How a command reaches the running stack, and how its errors become exit codes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from temporalio.client import Client
from temporalio.service import RPCError

from fascicle.domain.errors import FascicleError, UsageError
from fascicle.runtime.dependencies import Dependencies, open_dependencies
from fascicle.runtime.embedded import EmbeddedError, read_running_stack
from fascicle.runtime.settings import Settings, load_settings
from fascicle.runtime.temporal import connect, names_a_server
from starter.output import errors


@dataclass(frozen=True)
class Reach:
    """What most commands need."""

    dependencies: Dependencies
    client: Client


def demo_folder(data_dir: Path) -> Path:
    """The demo keeps its data apart, beside the real thing."""
    return data_dir.with_name(data_dir.name + "-demo")


def running_stack(data_dir: Path) -> dict[str, str | int] | None:
    """The embedded stack that runs on this data folder, or else its demo."""
    return read_running_stack(data_dir) or read_running_stack(demo_folder(data_dir))


def effective_settings() -> Settings:
    """Settings as the running stack has them: it publishes its environment; what is set here wins."""
    settings = load_settings()
    for name, value in (running_stack(settings.data_dir) or {}).items():
        if name.isupper():
            os.environ.setdefault(name, str(value))
    return load_settings()


@asynccontextmanager
async def database_only() -> AsyncIterator[Dependencies]:
    settings = effective_settings()
    if settings.database_url is None:
        raise _nothing_runs(settings)
    async with open_dependencies(settings) as dependencies:
        yield dependencies


@asynccontextmanager
async def reach() -> AsyncIterator[Reach]:
    """The database and Temporal, or an error that says which of them is missing."""
    async with database_only() as dependencies:
        if not names_a_server():
            raise _nothing_runs(dependencies.settings)
        yield Reach(dependencies, await connect())


def _nothing_runs(settings: Settings) -> FascicleError:
    return FascicleError(
        "not_running",
        f"Nothing is running on {settings.data_dir}. Start it with `fascicle up` (`make up` for the demo), "
        "or set DATABASE_URL and TEMPORAL_ADDRESS.",
    )


def run(command: Callable[[], Coroutine[Any, Any, None]] | Awaitable[None]) -> None:
    """Run a command's coroutine; errors are told in a sentence: exit 2 for wrong usage, 1 for a failure."""
    coroutine = command() if callable(command) else command
    try:
        asyncio.run(coroutine)  # type: ignore[arg-type]
    except UsageError as error:
        fail(error.message, 2)
    except FascicleError as error:
        fail(error.message, 1)
    except EmbeddedError as error:
        fail(str(error), 1)
    except RPCError as error:
        fail(f"Temporal refused: {error.message}", 1)
    except KeyboardInterrupt:
        fail("interrupted", 130)


def fail(message: str, code: int) -> None:
    errors.print(f"[red]error:[/] {escape(message)}")
    raise typer.Exit(code)


def leave(code: int) -> None:
    """The SDK's threads sometimes abort an orderly interpreter exit; by now everything is closed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
