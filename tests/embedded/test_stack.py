"""PostgreSQL and Temporal for real, in one data folder."""

import asyncio
import os
import signal
import socket
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from fascicle.embedded import (
    DataFolder,
    EmbeddedPostgres,
    EmbeddedTemporal,
    Supervisor,
    find_temporal,
    http_status,
    process,
)
from fascicle.embedded.ports import choose_port
from tests.embedded.waiting import until


@dataclass
class Stack:
    folder: Path
    postgres: EmbeddedPostgres
    temporal: EmbeddedTemporal
    supervisor: Supervisor
    events: list[tuple[str, str]] = field(default_factory=list)

    async def kill(self, name: str) -> None:
        """kill -9, and return when it has been restarted."""
        self.events.clear()
        os.kill(self.supervisor.pids[name], signal.SIGKILL)
        await until(lambda: (name, "restarted") in self.events)


@pytest.fixture(scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    path = tmp_path_factory.mktemp("stack") / "data"
    events: list[tuple[str, str]] = []
    with DataFolder(path) as folder:
        async with Supervisor(folder.path, lambda name, what: events.append((name, what))) as supervisor:
            postgres = EmbeddedPostgres(folder.path)
            temporal = EmbeddedTemporal(folder.path, 0, 0, {"Site": "Keyword"})
            await asyncio.gather(postgres.start(supervisor), temporal.start(supervisor))
            yield Stack(folder.path, postgres, temporal, supervisor, events)


async def ask(postgres: EmbeddedPostgres, query: str) -> object:
    connection = await asyncpg.connect(postgres.url.replace("+asyncpg", ""))
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def temporal_cli(temporal: EmbeddedTemporal, *arguments: str) -> str:
    command = [find_temporal(), *arguments, "--address", temporal.address]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


async def test_sqlalchemy_takes_the_url(stack: Stack) -> None:
    engine = create_async_engine(stack.postgres.url)
    async with engine.connect() as connection:
        assert (await connection.execute(text("SELECT current_database()"))).scalar() == "fascicle"
    await engine.dispose()


async def test_variables_of_libpq_do_not_lead_astray(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("PGHOST", "db.example.com")
    assert await ask(stack.postgres, "SELECT 1") == 1


async def test_only_the_socket_of_the_owner_leads_in(stack: Stack) -> None:
    assert await ask(stack.postgres, "SHOW listen_addresses") == ""
    assert await ask(stack.postgres, "SHOW fsync") == "on"
    assert (stack.folder / "socket").stat().st_mode & 0o777 == 0o700


async def test_killed_postgres_comes_back_with_its_data(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_PATIENCE_SECONDS", 0.5)
    await ask(stack.postgres, "CREATE TABLE kept AS SELECT 7 AS answer")
    # A backend too busy to notice that its postmaster was killed: no restart before it is gone too.
    busy = await asyncpg.connect(stack.postgres.url.replace("+asyncpg", ""))
    query = asyncio.create_task(busy.execute("DO $$ BEGIN LOOP END LOOP; END $$"))
    await asyncio.sleep(0.1)
    await stack.kill("postgres")
    assert await ask(stack.postgres, "SELECT answer FROM kept") == 7
    with pytest.raises((asyncpg.PostgresError, OSError)):
        await query
    await busy.close()


async def test_killed_temporal_comes_back_on_the_same_port_with_its_data(stack: Stack) -> None:
    address = stack.temporal.address
    start = ("workflow", "start", "--workflow-id", "kept", "--type", "Nothing", "--task-queue", "nobody")
    await asyncio.to_thread(temporal_cli, stack.temporal, *start, "--search-attribute", 'Site="mangadex"')
    await stack.kill("temporal")
    assert stack.temporal.address == address
    found = await asyncio.to_thread(temporal_cli, stack.temporal, "workflow", "list", "-q", "Site='mangadex'")
    assert "kept" in found
    health = await asyncio.to_thread(temporal_cli, stack.temporal, "operator", "cluster", "health")
    assert "SERVING" in health


async def test_temporal_serves_its_web_page_and_metrics(stack: Stack) -> None:
    for url in (stack.temporal.ui_url, stack.temporal.metrics_url):
        port, _, path = url.removeprefix("http://127.0.0.1:").partition("/")
        assert await http_status(int(port), f"/{path}") == 200


async def test_a_page_in_a_browser_cannot_use_temporals_http_api(stack: Stack) -> None:
    port = stack.temporal._ports["temporal-http"]
    path = "/api/v1/namespaces/default/workflows"
    assert await http_status(port, path) == 403
    assert await http_status(port, path, "a-name-that-leads-here.example") == 403


async def test_only_the_owner_reads_temporals_files(stack: Stack) -> None:
    files = list(stack.folder.glob("temporal.db*"))
    assert len(files) > 1, "the file and its log"
    assert [file.name for file in files if file.stat().st_mode & 0o077] == []


async def test_a_second_up_finds_ports_and_data_again(tmp_path: Path) -> None:
    addresses = []
    with socket.create_server(("127.0.0.1", 0)) as occupant:
        taken = occupant.getsockname()[1]
        for visit in range(2):
            with DataFolder(tmp_path / "data") as folder:
                async with Supervisor(folder.path) as supervisor:
                    postgres = EmbeddedPostgres(folder.path)
                    temporal = EmbeddedTemporal(folder.path, taken, choose_port(0, set()))
                    await asyncio.gather(postgres.start(supervisor), temporal.start(supervisor))
                    addresses.append(temporal.address)
                    if visit == 0:
                        (folder.path / "temporal.db").chmod(0o644)
                        await ask(postgres, "CREATE TABLE kept AS SELECT 7 AS answer")
                    assert await ask(postgres, "SELECT answer FROM kept") == 7
                    assert visit == 0 or (folder.path / "temporal.db").stat().st_mode & 0o777 == 0o600
    assert addresses[0] == addresses[1] != f"127.0.0.1:{taken}"


async def test_temporal_whose_very_first_start_was_killed_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "temporal.db.unfinished").touch()
    with closing(sqlite3.connect(tmp_path / "temporal.db")) as half_made:
        half_made.execute("CREATE TABLE the_first_of_many (id INTEGER)")
    async with Supervisor(tmp_path) as supervisor:
        await EmbeddedTemporal(tmp_path, 0, 0).start(supervisor)
    assert not (tmp_path / "temporal.db.unfinished").exists()


async def test_deep_data_folder_gets_a_short_and_stable_socket_path(tmp_path: Path) -> None:
    deep = tmp_path / ("deep" * 20) / ("deeper" * 10)
    urls = [EmbeddedPostgres(deep).url for _ in range(2)]
    assert urls[0] == urls[1]
    with DataFolder(deep) as folder:
        async with Supervisor(folder.path) as supervisor:
            postgres = EmbeddedPostgres(folder.path)
            await postgres.start(supervisor)
            assert await ask(postgres, "SELECT 1") == 1
            assert postgres.url == urls[0]
            socket_folder = Path(str(await ask(postgres, "SHOW unix_socket_directories")))
            assert socket_folder.stat().st_mode & 0o777 == 0o700
    socket_folder.rmdir()
