"""The database of the environment or the embedded one, for commands that back it up or need it alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import UsageError
from fascicle.embedded import DataFolder, EmbeddedPostgres, Supervisor, read_running_stack
from fascicle.embedded.datafolder import CLUSTER
from fascicle.embedded.postgres import programs as bundled_programs
from fascicle.services.operations.postgres_programs import PostgresPrograms
from fascicle.settings.settings import Settings
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.operations.backup import OURS, others_connected
from starter.context import demo_folder, effective_settings


@dataclass(frozen=True)
class Place:
    """A database that can be reached, and the programs for it."""

    engine: AsyncEngine
    programs: PostgresPrograms
    name: str
    is_embedded: bool


@asynccontextmanager
async def database_as_it_is() -> AsyncIterator[Place]:
    """The database of the environment or the running stack; else the embedded one, started for this."""
    settings = effective_settings()
    if settings.database_url is None and not (settings.data_dir.expanduser() / CLUSTER).exists():
        raise UsageError(
            "no_database", f"There is no database in {settings.data_dir}, and DATABASE_URL is not set."
        )
    async with _opened(settings) as place:
        yield place


@asynccontextmanager
async def database_alone(settings: Settings, *, others_may_look: bool = False) -> AsyncIterator[Place]:
    """The database, if no other session uses it. `others_may_look`: only our own sessions are refused."""
    if settings.database_url is None:
        _check_no_stack_runs(settings.data_dir)
    async with _opened(settings) as place:
        await _check_nobody_is_there(place, others_may_look)
        yield place


def _check_no_stack_runs(data_dir: Path) -> None:
    """Also refuse a running demo: every other command, such as `db backup`, would use its database now."""
    if stack := read_running_stack(data_dir):
        raise UsageError(
            "stack_runs",
            f"`fascicle up` (process {stack.get('pid', '?')}) works on {data_dir}: stop it first.",
        )
    demo = demo_folder(data_dir)
    if stack := read_running_stack(demo):
        raise UsageError(
            "stack_runs",
            f"The demo (process {stack.get('pid', '?')}) works on {demo}, and this is about {data_dir}: "
            f"stop it first. If the demo's database is meant: then with FASCICLE_DATA_DIR={demo}.",
        )


def programs_of(settings: Settings) -> PostgresPrograms:
    """The bundled programs for the embedded database, those of the PATH for any other."""
    ours = EmbeddedPostgres(settings.data_dir.expanduser()).url
    url = settings.database_url.get_secret_value() if settings.database_url else ours
    return PostgresPrograms(url, bundled_programs() if url == ours else None)


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Place]:
    if settings.database_url is not None:
        async with _connected(settings, "the database of DATABASE_URL") as place:
            yield place
        return
    with DataFolder(settings.data_dir) as folder:
        async with Supervisor(folder.path) as supervisor:
            await EmbeddedPostgres(folder.path).start(supervisor)
            async with _connected(settings, f"the database in {folder.path}") as place:
                yield place


@asynccontextmanager
async def _connected(settings: Settings, name: str) -> AsyncIterator[Place]:
    programs = programs_of(settings)
    engine = open_engine(programs.database_url, pool_size=1)
    try:
        yield Place(engine, programs, name, is_embedded=programs.folder is not None)
    finally:
        await engine.dispose()


async def _check_nobody_is_there(place: Place, others_may_look: bool) -> None:
    async with transaction(place.engine) as connection:
        there = await others_connected(connection)
    there = {who: count for who, count in there.items() if who == OURS or not others_may_look}
    if there:
        who = ", ".join(f"{name} ({count})" for name, count in there.items())
        raise UsageError(
            "in_use", f"Others are connected to {place.name}: {who}. Stop the workers and whoever else first."
        )
