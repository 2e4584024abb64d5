"""`fascicle up`: PostgreSQL, Temporal, a worker and the ops pages on this machine, without Docker (O6)."""

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack
from typing import Annotated

import typer

from fascicle.domain.names import SEARCH_ATTRIBUTES
from fascicle.runtime.dependencies import Dependencies, open_dependencies
from fascicle.runtime.embedded import (
    Command,
    DataFolder,
    EmbeddedPostgres,
    EmbeddedTemporal,
    PortBook,
    Supervisor,
    http_status,
)
from fascicle.runtime.settings import Settings, load_settings
from fascicle.runtime.temporal import connect, keep_history, names_a_server, register_search_attributes
from fascicle.storage.database import upgrade
from starter.context import demo_folder, leave, run
from starter.demo import demo_environment, onboard_demo
from starter.feed import follow_events, say
from starter.onboarding import ensure_all_workflows

_RETENTION_DAYS = 3


def up(
    demo: Annotated[
        bool, typer.Option("--demo", help="With upstreams of its own: real work, offline.")
    ] = False,
) -> None:
    """Run the whole stack here until Ctrl-C. Services named in the environment are used instead of ours."""
    run(lambda: Stack(load_settings(), demo=demo).run())


class Stack:
    """The embedded stack, from the first process to the last."""

    def __init__(self, settings: Settings, *, demo: bool) -> None:
        self._settings = settings
        self._demo = demo
        self._stop = asyncio.Event()
        self._published: dict[str, str | int] = {}

    async def run(self) -> None:
        self._install_signal_handlers()
        path = demo_folder(self._settings.data_dir) if self._demo else self._settings.data_dir
        async with AsyncExitStack() as cleanup:
            folder = cleanup.enter_context(DataFolder(path))
            supervisor = Supervisor(folder.path, self._on_event)
            cleanup.push_async_callback(supervisor.stop, self._settings.drain_seconds + 5)
            await self._start_servers(folder, supervisor)
            # The children and the CLI find the servers in the environment; so do we.
            self._settings = load_settings()
            dependencies = await cleanup.enter_async_context(open_dependencies(self._settings))
            await upgrade(dependencies.engine)
            watching = asyncio.create_task(follow_events(dependencies.engine, self._stop))
            await self._prepare_and_start_worker(dependencies, supervisor, folder)
            await watching
            say("stopping", "draining; Ctrl-C again to leave at once", "yellow")
        say("stopped", "`fascicle up` goes on where this left off", "yellow")

    async def _start_servers(self, folder: DataFolder, supervisor: Supervisor) -> None:
        """PostgreSQL, Temporal and, for the demo, the simulator, unless the environment names its own."""
        say("starting", f"data in {folder.path}", "yellow")
        if self._settings.database_url is None:
            postgres = EmbeddedPostgres(folder.path)
            await postgres.start(supervisor)
            self._announce("DATABASE_URL", postgres.url)
        else:
            self._announce("DATABASE_URL", self._settings.database_url.get_secret_value())
        if not names_a_server():
            temporal = EmbeddedTemporal(
                folder.path,
                self._settings.temporal_port,
                self._settings.temporal_ui_port,
                search_attributes=dict.fromkeys(SEARCH_ATTRIBUTES, "Keyword"),
            )
            await temporal.start(supervisor)
            self._announce("TEMPORAL_ADDRESS", temporal.address)
            self._published["web_ui"] = temporal.ui_url
        if self._demo:
            await self._start_simulator(folder, supervisor)

    async def _start_simulator(self, folder: DataFolder, supervisor: Supervisor) -> None:
        port = await asyncio.to_thread(
            PortBook(folder.path).choose, "simulator", self._settings.simulator_port
        )
        argv = [sys.executable, "-m", "simulator", "--port", str(port), "--world", "demo"]
        argv += ["--state", str(folder.path / "simulator.json")]
        argv += ["--release-every", str(self._settings.demo_release_seconds)]

        async def ready() -> bool:
            return await http_status(port, "/_sim/health") == 200

        await supervisor.start(Command(name="simulator", argv=argv, ready=ready))
        self._published["simulator"] = f"http://127.0.0.1:{port}"
        for name, value in demo_environment(f"http://127.0.0.1:{port}").items():
            self._announce(name, os.environ.get(name, value))

    async def _prepare_and_start_worker(
        self, dependencies: Dependencies, supervisor: Supervisor, folder: DataFolder
    ) -> None:
        client = await connect()
        await register_search_attributes(client)
        if "web_ui" in self._published:
            await keep_history(client, _RETENTION_DAYS)
        await self._start_worker(folder, supervisor)
        folder.publish({**self._published, "pid": os.getpid()})
        await ensure_all_workflows(dependencies, client)
        if self._demo:
            count = await onboard_demo(dependencies, client, str(self._published["simulator"]))
            say(
                "demo",
                f"{count} series, a new chapter every {self._settings.demo_release_seconds:g} s",
                "cyan",
            )
        self._print_addresses()

    async def _start_worker(self, folder: DataFolder, supervisor: Supervisor) -> None:
        port = await asyncio.to_thread(PortBook(folder.path).choose, "ops", self._settings.ops_port)
        self._announce("FASCICLE_OPS_PORT", str(port))
        self._published["ops"] = f"http://127.0.0.1:{port}"

        async def ready() -> bool:
            return await http_status(port, "/ready") == 200

        await supervisor.start(Command(name="worker", argv=[sys.executable, "-m", "worker"], ready=ready))

    def _announce(self, variable: str, value: str) -> None:
        """Into our environment, which the children inherit, and into what the CLI reads."""
        os.environ[variable] = value
        self._published[variable] = value

    def _print_addresses(self) -> None:
        if "web_ui" in self._published:
            say("ready", f"Temporal Web UI  {self._published['web_ui']}", "green")
        say("ready", f"ops pages        {self._published['ops']}/ready  /health  /metrics", "green")
        say("ready", "try: fascicle status, fascicle source list, fascicle --help", "green")

    def _on_event(self, name: str, what: str) -> None:
        if what in ("died", "restarted"):
            say(what, f"{name} (its log is in logs/{name}.log of the data folder)", "red")

    def _install_signal_handlers(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        if self._stop.is_set():
            leave(128 + number)  # the children notice that we are gone
        self._stop.set()
