"""`fascicle up`: PostgreSQL, Temporal, a worker and the ops pages on this machine, without Docker (O6)."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Annotated, Any

import typer

from fascicle.domain.names import SEARCH_ATTRIBUTES
from fascicle.embedded import (
    Command,
    DataFolder,
    EmbeddedPostgres,
    EmbeddedTemporal,
    PortBook,
    ProcessNotReady,
    Supervisor,
    http_status,
)
from fascicle.settings.setting_names import unknown_in_words
from fascicle.settings.settings import Settings, load_settings
from fascicle.storage.database import open_reading_engine
from starter.context import KEYS_ARE_SET, command, demo_folder, temporal_is_named
from starter.output import leave, plain
from starter.stack.events import follow_events, say
from starter.stack.prepared import Preparation
from starter.stack.stack_file import own_settings

# A worker waits a minute for its servers before it gives up with an error, so wait a little longer.
_WORKER_READY_SECONDS = 75.0
# `-P`: do not import from the current folder, which may have a worker.py of its own.
PYTHON = [sys.executable, "-P", "-m"]

_REMEDIES = {
    "PostgreSQL": "If its files are damaged: restore {0} from a backup, or move it away to start empty.",
    "Temporal": "If its file is damaged: move {0}/temporal.db* away; the sources start anew from PostgreSQL.",
    "the demo's upstreams": "If their file is damaged: remove {0}/simulator.json*.",
    "the worker": "`fascicle doctor` may know more.",
}


@command
async def up(
    demo: Annotated[
        bool, typer.Option("--demo", help="With upstreams of its own: real work, offline.")
    ] = False,
) -> None:
    """Run the whole stack here until Ctrl-C. Services named in the environment are used instead of ours."""

    await Stack(load_settings(), demo=demo).run()


class Stack:
    """The embedded stack: starts all processes in order, and stops them."""

    def __init__(self, settings: Settings, *, demo: bool) -> None:
        self._settings = settings
        self._demo = demo
        self._uses_named_temporal = temporal_is_named() and not demo
        path = demo_folder(settings.data_dir) if demo else settings.data_dir
        self._folder = DataFolder(path)
        self._supervisor = Supervisor(self._folder.path, self._on_event)
        self._stop = asyncio.Event()
        self._starting = ""
        self._published: dict[str, str | int] = {"pid": os.getpid()}
        self._shelf = self._folder.path / "shelf.txt"
        self._shelved = 0

    async def run(self) -> None:
        self._install_signal_handlers()
        async with AsyncExitStack() as cleanup:
            cleanup.enter_context(self._folder)
            cleanup.push_async_callback(self._supervisor.stop, self._settings.drain_seconds + 5)
            self._folder.publish(self._published)
            await self._until_stopped(self._start(cleanup))
            say("stopping", "draining; Ctrl-C again to leave at once", "yellow")
        say("stopped", "`fascicle up` goes on where this left off", "yellow")

    async def _until_stopped(self, start: Coroutine[Any, Any, None]) -> None:
        """Start everything and wait for a signal; a signal during the start cancels it."""
        starting = asyncio.create_task(start)
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait([starting, stopped], return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            await stopped
        else:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)

    async def _start(self, cleanup: AsyncExitStack) -> None:
        for told in unknown_in_words():
            say("settings", plain(told), "red")
        say("starting", f"data in {plain(self._folder.path)}", "yellow")
        try:
            await self._start_servers()
            # Reload: the servers' addresses are in the environment now.
            self._settings = load_settings()
            await self._prepare_and_start_worker(cleanup)
        except ProcessNotReady as error:
            remedy = _REMEDIES[self._starting].format(self._folder.path)
            raise ProcessNotReady(f"{error}\n{remedy}") from error
        self._print_addresses()

    async def _follow_events(self, cleanup: AsyncExitStack) -> None:
        url = self._settings.database_url
        assert url is not None, "the servers have been started"
        engine = open_reading_engine(url.get_secret_value())
        cleanup.push_async_callback(engine.dispose)
        watching = asyncio.create_task(follow_events(engine, self._stop))
        cleanup.push_async_callback(self._end, watching)

    async def _end(self, watching: asyncio.Task[None]) -> None:
        self._stop.set()
        await watching

    async def _start_servers(self) -> None:
        """PostgreSQL, Temporal and, for the demo, the simulator, unless the environment names its own."""
        # Absolute, as the CLI may be used in another folder.
        self._announce("FASCICLE_SITES_DIR", str(self._settings.sites_dir.absolute()))
        # For the demo, its own folder: all processes must find the token keys and posts' files there.
        self._announce("FASCICLE_DATA_DIR", str(self._folder.path))
        if self._settings.files_dir is not None:
            self._announce("FASCICLE_FILES_DIR", str(self._settings.files_dir.expanduser().absolute()))
        if self._settings.token_keys_file is not None:
            self._announce("FASCICLE_TOKEN_KEYS_FILE", str(self._settings.token_keys_file.absolute()))
        if self._settings.token_keys is not None:
            self._published[KEYS_ARE_SET] = "yes"
        if self._demo and (self._settings.database_url or temporal_is_named()):
            say("demo", "uses its own servers, not those of DATABASE_URL and TEMPORAL_ADDRESS", "yellow")
        if self._demo or self._settings.database_url is None:
            await self._start_postgres()
        else:
            self._announce("DATABASE_URL", self._settings.database_url.get_secret_value())
        if not self._uses_named_temporal:
            await self._start_temporal()
        if self._demo:
            await self._start_simulator()

    async def _start_postgres(self) -> None:
        self._say_starting("PostgreSQL")
        postgres = EmbeddedPostgres(self._folder.path)
        await postgres.start(self._supervisor)
        self._announce("DATABASE_URL", postgres.url)

    async def _start_temporal(self) -> None:
        self._say_starting("Temporal")
        codec_endpoint = await self._codec_endpoint()
        temporal = EmbeddedTemporal(
            self._folder.path,
            self._settings.temporal_port,
            self._settings.temporal_ui_port,
            search_attributes=dict.fromkeys(SEARCH_ATTRIBUTES, "Keyword"),
            codec_endpoint=codec_endpoint,
        )
        await temporal.start(self._supervisor)
        for name in [name for name in os.environ if name.startswith("TEMPORAL_")]:
            del os.environ[name]  # it may be a namespace or a key for another server
        self._announce("TEMPORAL_ADDRESS", temporal.address)
        self._published["web_ui"] = temporal.ui_url
        if codec_endpoint is not None and not self._settings.codec_origins:
            self._announce("FASCICLE_CODEC_ORIGINS", temporal.ui_url)

    async def _codec_endpoint(self) -> str | None:
        """The address at which the worker, which starts later, will decrypt payloads for the Web UI."""
        settings = self._settings
        if settings.codec_token is None or not settings.payload.ring.fingerprints:
            return None
        return f"http://127.0.0.1:{await self._ops_port()}/codec"

    async def _ops_port(self) -> int:
        return await asyncio.to_thread(PortBook(self._folder.path).choose, "ops", self._settings.ops_port)

    async def _start_simulator(self) -> None:
        self._say_starting("the demo's upstreams")
        folder = self._folder.path
        port = await asyncio.to_thread(PortBook(folder).choose, "simulator", self._settings.simulator_port)
        argv = [*PYTHON, "simulator", "--port", str(port), "--world", "demo"]
        argv += ["--state", str(folder / "simulator.json")]
        argv += ["--release-every", str(self._settings.demo_release_seconds)]

        async def ready() -> bool:
            return await http_status(port, "/_sim/health") == 200

        await self._supervisor.start(Command(name="simulator", argv=argv, ready=ready))
        self._published["simulator"] = f"http://127.0.0.1:{port}"
        from starter.stack.demo_environment import demo_environment  # imports models of the simulator

        for name, value in demo_environment(f"http://127.0.0.1:{port}", os.environ).items():
            self._announce(name, value)

    async def _prepare_and_start_worker(self, cleanup: AsyncExitStack) -> None:
        """Use a separate process for this: it needs more memory than this one should keep."""
        simulator = self._published.get("simulator")
        helper = Preparation(
            own_temporal="web_ui" in self._published,
            simulator=None if simulator is None else str(simulator),
            shelf=self._shelf,
        )
        async with helper:
            async for news in helper.news():
                await self._heed(news, helper, cleanup)

    async def _heed(self, news: dict[str, Any], helper: Preparation, cleanup: AsyncExitStack) -> None:
        match news:
            case {"step": "schema"}:
                await self._follow_events(cleanup)
            case {"step": "worker"}:
                await self._start_worker()
                await helper.go_on()
            case {"step": "stack"}:
                self._folder.publish({**own_settings(), **self._published})
            case {"waiting": why}:  # publish the settings now: `fascicle payload` may be needed
                self._folder.publish({**own_settings(), **self._published})
                say("waiting", plain(why), "red")
            case {"warning": text}:
                say("warning", plain(text), "yellow")
            case {"series": count, "artist": artist}:
                every = self._settings.demo_release_seconds
                told = f"{count} series, a new chapter every {every:g} s; {artist} publishes now and then"
                say("demo", told, "cyan")
            case {"shelved": count}:
                self._shelved = count

    async def _start_worker(self) -> None:
        self._say_starting("the worker")
        port = await self._ops_port()
        self._announce("FASCICLE_OPS_PORT", str(port))
        self._published["ops"] = f"http://127.0.0.1:{port}"

        async def ready() -> bool:
            return await http_status(port, "/ready") == 200

        argv = [*PYTHON, "worker"]
        command = Command(
            name="worker", argv=argv, inherits=True, ready=ready, ready_within=_WORKER_READY_SECONDS
        )
        await self._supervisor.start(command)

    def _announce(self, variable: str, value: str) -> None:
        """Set a variable in our environment, which children inherit, and in the file that the CLI reads."""
        os.environ[variable] = value
        self._published[variable] = value

    def _say_starting(self, what: str) -> None:
        self._starting = what
        say("starting", what, "yellow")

    def _print_addresses(self) -> None:
        if "web_ui" in self._published:
            say("ready", f"Temporal Web UI  {self._published['web_ui']}", "green")
        say("ready", f"ops pages        {self._published['ops']}/ready  /health  /metrics", "green")
        if self._shelved:
            more = f"{self._shelved} more series"
            say("ready", f"try: fascicle source import {plain(self._shelf)}  ({more})", "green")
        say("ready", "try: fascicle status, fascicle source list, fascicle --help", "green")

    def _on_event(self, name: str, what: str) -> None:
        if what in ("died", "restarted"):
            log = self._folder.path / "logs" / f"{name}.log"
            say(what, f"{name}, see {plain(log)}" if what == "died" else name, "red")

    def _install_signal_handlers(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        if self._stop.is_set():
            leave(128 + number)  # the children notice that this process has ended
        self._stop.set()
