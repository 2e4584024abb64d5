"""Connects commands to the running stack, and turns their errors into exit codes."""

import asyncio
import functools
import inspect
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

from fascicle.domain.errors import FascicleError, PermanentError, UsageError
from fascicle.domain.names import new_id
from fascicle.embedded import EmbeddedError, read_running_stack
from fascicle.process.correlation_id import correlated, is_correlation_id
from fascicle.process.logs import configure_logs_at_first_use
from fascicle.services.dependencies import Dependencies, open_dependencies
from fascicle.settings.env_file import load_env_file
from fascicle.settings.setting_names import CORRELATION_VARIABLE, TRACE_ENDPOINTS
from fascicle.settings.settings import Settings, load_settings
from fascicle.storage.database import check_schema, refused_by_database
from starter.output import print_error, print_json

if TYPE_CHECKING:
    from temporalio.client import Client

    from fascicle.temporal.tracing import Tracing

P = ParamSpec("P")

_UNDEFINED_TABLE = "42P01"
# A stack publishes this if its keys are in its environment, which other shells do not see.
KEYS_ARE_SET = "token_keys"
# A command has few spans to send; a missing collector must not keep a person waiting.
_LAST_SPANS_SECONDS = 0.5


@dataclass(frozen=True)
class Reach:
    """The clients that most commands need."""

    dependencies: Dependencies
    client: "Client"


# Worker and commands must use the same files.
_STACKS_OWN = ("FASCICLE_DATA_DIR", "FASCICLE_FILES_DIR")


def demo_folder(data_dir: Path) -> Path:
    """The demo's data folder, separate from the real one and beside it."""
    return data_dir.with_name(data_dir.name + "-demo")


def running_stack(data_dir: Path) -> dict[str, str | int] | None:
    """The embedded stack that runs on this data folder, or else its demo."""
    return read_running_stack(data_dir) or read_running_stack(demo_folder(data_dir))


def effective_settings() -> Settings:
    """The settings of the running stack, which publishes its environment; values set here take precedence.

    Its folders are the exception: the data folder set here may not be the demo's, or a path may be relative.
    """
    settings = load_settings()
    is_news = _take_over(running_stack(settings.data_dir) or {})
    return load_settings() if is_news else settings


def _take_over(published: dict[str, str | int]) -> bool:
    """Returns True if this changed our environment."""
    wanted = {
        name: str(value)
        for name, value in published.items()
        if name.isupper() and (name in _STACKS_OWN or not os.environ.get(name))
    }
    is_news = any(os.environ.get(name) != value for name, value in wanted.items())
    os.environ.update(wanted)
    return is_news


def temporal_is_named() -> bool:
    """True if the environment or a profile file names Temporal's address."""
    from fascicle.temporal.temporal_address import names_a_server

    try:
        return names_a_server()
    except RuntimeError as error:
        raise UsageError("wrong_setting", f"Temporal's own settings are wrong: {error}.") from error


@asynccontextmanager
async def database_only(*, any_schema: bool = False) -> AsyncIterator[Dependencies]:
    """`any_schema`: accept also a schema that is older or newer than this code; most commands must not."""
    async with _database(any_schema=any_schema) as dependencies:
        yield dependencies


@asynccontextmanager
async def reading() -> AsyncIterator[Dependencies]:
    """For a command that only reads: loads as little as possible, and cannot change anything."""
    async with _database(only_reads=True) as dependencies:
        yield dependencies


@asynccontextmanager
async def _database(*, any_schema: bool = False, only_reads: bool = False) -> AsyncIterator[Dependencies]:
    settings = effective_settings()
    if settings.database_url is None:
        raise _nothing_runs(settings)
    async with usable_dependencies(settings, only_reads=only_reads) as dependencies:
        if not any_schema:
            await check_schema(dependencies.engine)
        yield dependencies


@asynccontextmanager
async def usable_dependencies(settings: Settings, *, only_reads: bool = False) -> AsyncIterator[Dependencies]:
    """`open_dependencies`, with the database's own errors translated to ours."""
    try:
        async with open_dependencies(settings, only_reads=only_reads) as dependencies:
            yield dependencies
    except Exception as error:
        if (refusal := refused_by_database(error)) is None:
            raise
        raise _refused_by_database(refusal) from error


@asynccontextmanager
async def reach() -> AsyncIterator[Reach]:
    """Connects to the database and to Temporal; the error says which of them is missing."""
    async with database_only() as dependencies:
        yield Reach(dependencies, await temporal_client(dependencies))


async def temporal_client(dependencies: Dependencies, *, may_begin: bool = False) -> "Client":
    """Fails without the payload keys in use: data written without them could be read by all, or by nobody."""
    from fascicle.temporal.key_agreement import agree_on_keys

    settings = dependencies.settings
    if not temporal_is_named():
        raise _nothing_runs(settings)
    await agree_on_keys(dependencies.engine, settings.payload, may_begin=may_begin)
    return await unchecked_client(settings)


async def unchecked_client(settings: Settings) -> "Client":
    """A client without the check of keys, for reading. Started workflows are traced, if tracing is on."""
    from fascicle.temporal.client import connect

    return await connect(settings.payload, interceptors=[_tracing.interceptor()] if _tracing else ())


# The tracing of the running command; a global, as OpenTelemetry also has one provider per process.
_tracing: "Tracing | None" = None


def command(function: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Makes a coroutine a command. Of errors it prints one sentence: exit 2 for wrong usage, 1 for a failure.

    With an option `as_json`, our own errors are also JSON on stdout, for programs that read nothing else.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        _run(function, functools.partial(function, *args, **kwargs), as_json=bool(given.get("as_json")))

    return call


def _run(
    function: Callable[..., Any], begin: Callable[[], Coroutine[Any, Any, None]], *, as_json: bool
) -> None:
    # A command prints its own results to stdout; only the worker needs a full log.
    configure_logs_at_first_use("ERROR", "console")
    logging.getLogger("apprise").setLevel(logging.CRITICAL)
    try:
        with correlated(_correlation_id()), _traced(function):
            asyncio.run(begin())
    except FascicleError as error:
        told = with_a_hint(error, doctor=True)
        _say(error.code, told, as_json)
        fail(told, 2 if isinstance(error, UsageError) else 1)
    except EmbeddedError as error:
        _say("not_started", str(error), as_json)
        fail(str(error), 1)
    except KeyboardInterrupt:
        fail("interrupted", 130)
    except Exception as error:
        if not (refused := _refused_by_temporal(error)):
            raise
        _say("temporal_refused", refused, as_json)
        fail(refused, 1)


def _refused_by_temporal(error: Exception) -> str | None:
    if "temporalio.service" not in sys.modules:  # the command did not use Temporal
        return None
    from temporalio.service import RPCError

    from starter.temporal_words import refusal

    return refusal(error) if isinstance(error, RPCError) else None


def _correlation_id() -> str:
    """The id from the environment, so that a script can use one for all its commands; else a new one."""
    given = os.environ.get(CORRELATION_VARIABLE)
    if given and not is_correlation_id(given):
        raise UsageError(
            "wrong_usage",
            "A correlation id has up to 64 letters, digits and any of . _ : - and begins with one of the "
            "first two.",
        )
    return given or new_id()


@contextmanager
def _traced(function: Callable[..., Any]) -> Iterator[None]:
    global _tracing
    load_env_file()
    _tracing = _open_tracing()
    if _tracing is None:
        yield
        return
    try:
        # Never the arguments, which may be secrets.
        with _tracing.span(f"fascicle {function.__module__.rpartition('.')[2]} {function.__name__}"):
            yield
    finally:
        _tracing.close(_LAST_SPANS_SECONDS)
        _tracing = None


def _open_tracing() -> "Tracing | None":
    if not any(os.environ.get(name) for name in TRACE_ENDPOINTS):
        return None
    from fascicle.temporal.tracing import open_tracing

    return open_tracing("fascicle-cli")


def check_keys(settings: Settings) -> None:
    """The worker must be able to open what a command seals, so the keys must be the stack's."""
    has_keys = settings.token_keys is not None or settings.token_keys_file is not None
    if not has_keys and (running_stack(settings.data_dir) or {}).get(KEYS_ARE_SET):
        raise UsageError(
            "no_key",
            "The running stack has its keys in FASCICLE_TOKEN_KEYS: set the same here.",
        )


def _say(code: str, reason: str, as_json: bool) -> None:
    if as_json:
        print_json({"error_code": code, "reason": reason})


def fail(message: str, code: int) -> None:
    print_error(message)
    raise typer.Exit(code)


# Workers just retry after these errors; a person at a command needs a hint where to look.
_WHERE_TO_LOOK = {
    "database_down": "Is the server of DATABASE_URL up?",
    "temporal_down": "Is the server of TEMPORAL_ADDRESS up?",
}


def with_a_hint(error: FascicleError, *, doctor: bool = False) -> str:
    hint = _WHERE_TO_LOOK.get(error.code)
    if hint is None:
        return error.message
    return f"{error.message.rstrip('.')}. {hint}" + (" See `fascicle doctor`." if doctor else "")


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


def _refused_by_database(error: BaseException) -> PermanentError:
    if getattr(error, "sqlstate", None) == _UNDEFINED_TABLE:
        return PermanentError(
            "no_schema", "The database has no tables of ours yet: run `fascicle db upgrade`."
        )
    reason = str(error).splitlines()[0].split(">: ")[-1]
    return PermanentError("database_refused", f"The database refuses: {reason}. Check DATABASE_URL.")
