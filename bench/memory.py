"""Memory of the stack at rest, process by process: with ten feeds, with many, and after many polls.

python -m bench.memory [--feeds 1000] [--seconds 60] [--every 20] [--rest 60]

The real `fascicle up`, in a folder that is thrown away; the simulator whose feeds it reads is not counted.
PSS: a page that several processes share counts once, each process with its part of it.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from sqlalchemy import text
from temporalio.client import Client

from bench.books import in_parallel
from bench.command import at_least_one, open_table, run_bench, say
from bench.stack import settle_environment, start_simulator
from fascicle.domain.names import FEED_SITE, source_workflow_id
from fascicle.embedded import Supervisor, read_running_stack
from fascicle.services.dependencies import Dependencies, open_dependencies
from fascicle.services.series.onboarding import ensure_workflow
from fascicle.settings.settings import Settings
from fascicle.storage.database import transaction
from fascicle.temporal.client import connect
from simulator.client import SimulatorControl
from simulator.feeds.records import EntrySpec, FeedSpec

FEW = 10
_ENTRIES = 10
_PATIENCE = 600.0

# Slow feeds rest for a day; fast ones are polled every few seconds in this bench.
_SLOW, _FAST = "COLD", "HOT"

_READER = "insert into app_user (id, name) values ('reader', 'reader') on conflict do nothing"
_SOURCES = """
insert into source (id, site, site_key, url, title, cadence, pinned_cadence, next_check_at)
select 's' || n, :site, :base || n, :base || n, 'Feed ' || n, :cadence, :cadence, now()
from generate_series(cast(:first as int), cast(:last as int)) n"""
_FEEDS = "insert into feed (source_id, url) select id, site_key from source on conflict do nothing"
_SUBSCRIPTIONS = """
insert into subscription (user_id, source_id) select 'reader', id from source on conflict do nothing"""
_READ = "select count(*) from source where first_synced_at is not null"
_PIN = "update source set pinned_cadence = :cadence"


@dataclass(frozen=True)
class MemoryRow:
    """PSS of one process of the stack with its own children, in MB."""

    process: str
    few_feeds: float
    many_feeds: float
    after_polls: float


@dataclass(frozen=True)
class MemoryUse:
    feeds: int
    polls: int
    rows: list[MemoryRow]
    """The last one is the sum."""


@dataclass(frozen=True)
class _RunningStack:
    pid: int
    folder: Path
    dependencies: Dependencies
    client: Client
    simulator: SimulatorControl
    simulator_url: str


async def measure(feeds: int, seconds: float, every: float, rest: float) -> MemoryUse:
    """Memory of processes at rest: with ten feeds, with `feeds`, and after polls every `every` seconds."""
    async with _open_stack(every) as stack:
        say(f"reading {FEW} feeds")
        await _add_feeds(stack, 1, FEW)
        few = await _at_rest(stack, rest)
        say(f"reading {feeds} feeds")
        await _add_feeds(stack, FEW + 1, feeds)
        many = await _at_rest(stack, rest)
        say(f"{seconds:g} s of polling every {every:g} s")
        polls = await _poll(stack, feeds, seconds)
        after = await _at_rest(stack, rest)
    names = sorted(few | many | after, key=lambda name: -many[name])
    rows = [MemoryRow(name, few[name], many[name], after[name]) for name in names]
    total = MemoryRow("together", few.total(), many.total(), after.total())
    return MemoryUse(feeds, polls, [*rows, total])


async def _add_feeds(stack: _RunningStack, first: int, last: int) -> None:
    """Store feeds as an import does, and wait for their first readings."""
    await in_parallel(range(first, last + 1), lambda number: _publish_feed(stack, number))
    base = f"{stack.simulator_url}/feeds/feed-"
    sources = {"site": FEED_SITE, "base": base, "first": first, "last": last, "cadence": _SLOW}
    async with transaction(stack.dependencies.engine) as connection:
        await connection.execute(text(_READER))
        await connection.execute(text(_SOURCES), sources)
        await connection.execute(text(_FEEDS))
        await connection.execute(text(_SUBSCRIPTIONS))
    ids = [f"s{number}" for number in range(first, last + 1)]
    await in_parallel(ids, lambda i: ensure_workflow(stack.dependencies, stack.client, i))
    async with asyncio.timeout(_PATIENCE):
        while await _value(stack, _READ) < last:  # noqa: ASYNC110
            await asyncio.sleep(1)


async def _publish_feed(stack: _RunningStack, number: int) -> None:
    name = f"feed-{number}"
    await stack.simulator.feeds.add_feed(FeedSpec(name=name, title=f"Feed {number}"))
    entries = [EntrySpec(title=f"{name} {entry}") for entry in range(_ENTRIES)]
    await stack.simulator.feeds.add_entries(name, entries)


async def _poll(stack: _RunningStack, feeds: int, seconds: float) -> int:
    """Returns the number of polls; afterwards all feeds are slow again."""
    before = await _requests(stack)
    for cadence, pause in ((_FAST, seconds), (_SLOW, 0.0)):
        async with transaction(stack.dependencies.engine) as connection:
            await connection.execute(text(_PIN), {"cadence": cadence})
        await in_parallel(range(1, feeds + 1), lambda number: _wake(stack, f"s{number}"))
        await asyncio.sleep(pause)
    return await _requests(stack) - before


async def _wake(stack: _RunningStack, source_id: str) -> None:
    await stack.client.get_workflow_handle(source_workflow_id(source_id)).signal("poll_now")


async def _requests(stack: _RunningStack) -> int:
    return len(await stack.simulator.requests("/feeds/feed-*"))


async def _value(stack: _RunningStack, sql: str) -> int:
    async with transaction(stack.dependencies.engine) as connection:
        return int(await connection.scalar(text(sql)) or 0)


async def _at_rest(stack: _RunningStack, rest: float) -> Counter[str]:
    """MB by process, after the site has received no requests for a while."""
    async with asyncio.timeout(_PATIENCE):
        asked = -1
        while asked != (asked := await _requests(stack)):  # noqa: ASYNC110
            await asyncio.sleep(5)
    await stack.dependencies.engine.dispose()  # our own connections are not the stack's
    await asyncio.sleep(rest)
    return await asyncio.to_thread(memory_by_process, stack.pid, stack.folder)


def memory_by_process(up: int, folder: Path) -> Counter[str]:
    """MB of `up` and all its descendants, by the names that the supervisor of `folder` gave its children."""
    named = {up: "up"} | {int(lock.read_text()): lock.stem for lock in (folder / "run").glob("*.lock")}
    use: Counter[str] = Counter()
    for process in (psutil.Process(up), *psutil.Process(up).children(recursive=True)):
        with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            name = named.get(process.pid) or _name_of_helper(process, named)
            use[name] += _pss(process.pid)  # type: ignore[assignment]
    return use


def _name_of_helper(process: psutil.Process, named: dict[int, str]) -> str:
    """PostgreSQL's processes count as one; a worker's parser has its own row."""
    owner = next((named[p.pid] for p in process.parents() if p.pid in named), "up")
    return "worker's parser" if owner == "worker" else owner


def _pss(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


@asynccontextmanager
async def _open_stack(every: float) -> AsyncIterator[_RunningStack]:
    with tempfile.TemporaryDirectory(prefix="fascicle-bench-") as temporary:
        folder = Path(temporary) / "data"
        settle_environment(Path(temporary))
        async with AsyncExitStack() as cleanup:
            say("starting the simulator and `fascicle up`")
            supervisor = await cleanup.enter_async_context(Supervisor(Path(temporary)))
            simulator_url = await start_simulator(supervisor)
            os.environ.update(_environment(folder, simulator_url, every))
            pid = await cleanup.enter_async_context(_up(folder, Path(temporary)))
            # From here on the environment names the stack's servers.
            dependencies = await cleanup.enter_async_context(open_dependencies(Settings()))
            simulator = await cleanup.enter_async_context(SimulatorControl(simulator_url))
            client = await connect(dependencies.settings.payload)
            yield _RunningStack(pid, folder, dependencies, client, simulator, simulator_url)


def _environment(folder: Path, simulator_url: str, every: float) -> dict[str, str]:
    settings = {
        "DATA_DIR": str(folder),
        "TEMPORAL_PORT": "0",
        "TEMPORAL_UI_PORT": "0",
        "OPS_PORT": "0",
        "ALLOW_HOSTS": urlsplit(simulator_url).netloc,
        "CADENCE_HOT_SECONDS": str(every),
        "FEED_INTERVAL_SECONDS": "0",
        "FEED_MIN_SECONDS": "1",
        "SWEEP": "false",
    }
    return {f"FASCICLE_{name}": value for name, value in settings.items()}


@asynccontextmanager
async def _up(folder: Path, cwd: Path) -> AsyncIterator[int]:
    """Runs `fascicle up`, and puts the addresses of its servers into our environment."""
    argv = [sys.executable, "-P", "-m", "starter.main", "up"]
    with (cwd / "up.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*argv, cwd=cwd, stdout=log, stderr=log)
    try:
        os.environ.update(await _until_published(process, folder, cwd / "up.log"))
        yield process.pid
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


async def _until_published(process: asyncio.subprocess.Process, folder: Path, log: Path) -> dict[str, str]:
    async with asyncio.timeout(120):
        while process.returncode is None:
            stack = await asyncio.to_thread(read_running_stack, folder) or {}
            if "ops" in stack:
                return {name: str(stack[name]) for name in ("DATABASE_URL", "TEMPORAL_ADDRESS")}
            await asyncio.sleep(0.2)
    raise SystemExit(f"`fascicle up` ended: {await asyncio.to_thread(log.read_text)}")


def print_report(use: MemoryUse) -> None:
    console, table = open_table("PSS at rest, MB", width=100)
    table.add_column("process")
    for column in (f"{FEW} feeds", f"{use.feeds:,} feeds", f"after {use.polls:,} polls"):
        table.add_column(column, justify="right")
    for row in use.rows:
        table.add_row(row.process, *_rounded((row.few_feeds, row.many_feeds, row.after_polls)))
    console.print(table)


def _rounded(numbers: Sequence[float]) -> list[str]:
    return [f"{number:.0f}" for number in numbers]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--feeds", type=at_least_one, default=1000)
    parser.add_argument("--seconds", type=float, default=60, help="of polling")
    parser.add_argument("--every", type=float, default=20, metavar="SECONDS", help="from poll to poll")
    parser.add_argument("--rest", type=float, default=60, metavar="SECONDS", help="before each look")
    options = parser.parse_args()

    async def bench() -> None:
        print_report(await measure(options.feeds, options.seconds, options.every, options.rest))

    run_bench(bench)


if __name__ == "__main__":
    main()
