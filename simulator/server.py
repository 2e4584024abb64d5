"""Running the simulator: in this process until a signal stops it, or in a thread beside a test."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from types import TracebackType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from simulator.app import SimulatorApp
from simulator.catalogue import addresses
from simulator.connection import BreakableProtocol
from simulator.mangadex import MangaDex
from simulator.series import Series
from simulator.simulation import Simulation, WorldName

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
BACKLOG = 2048
START_SECONDS = 10
STOP_SECONDS = 5


class SimulatorServer(uvicorn.Server):
    """A uvicorn server that stops at once: it aborts open connections and cancels running requests."""

    def __init__(self, app: SimulatorApp) -> None:
        config = uvicorn.Config(
            app,
            http=BreakableProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            # Closing an idle connection can fail a client's next request, a fault that no test ordered.
            timeout_keep_alive=300,
        )
        super().__init__(config)
        self.ready = Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, H11Protocol):
                connection.transport.abort()
        for request in self.server_state.tasks:
            request.cancel()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal without raising it again afterwards, so that the process exits with 0."""
        if current_thread() is not main_thread():
            yield
            return
        previous = {number: signal.signal(number, self.handle_exit) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's delay (40 ms per answer) only on sockets with an explicit protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class RunningSimulator:
    """The simulator on a free port, in a thread of its own, for as long as the `with` block lasts.

    The block may use its attributes directly: the server shows the same world.
    """

    def __init__(
        self,
        world: WorldName = "empty",
        *,
        state_file: Path | None = None,
        release_every: float | None = None,
    ) -> None:
        self.simulation = Simulation.begin(world, state_file)
        self.world = self.simulation.world
        self.faults = self.simulation.faults
        self.requests = self.simulation.requests
        self.rate_limits = self.simulation.rate_limits
        self.sink = self.simulation.sink
        self.deviantart = self.simulation.deviantart
        self.ao3 = self.simulation.ao3
        self.discord = self.simulation.discord
        self.objects = self.simulation.objects
        self.feeds = self.simulation.feeds
        self.llm = self.simulation.llm
        self.firecrawl = self.simulation.firecrawl
        self.press = self.simulation.press
        self.url = ""
        self.mangadex_url = ""
        self._server = SimulatorServer(SimulatorApp(self.simulation, release_every))
        self._thread: Thread | None = None

    def site_url(self, site: str) -> str:
        """The base address of the simulated site."""
        return f"{self.url}/{site}"

    def feed_url(self, name: str) -> str:
        """The address of the feed of that name."""
        return f"{self.url}{self.feeds.feed(name).path}"

    def article_url(self, slug: str) -> str:
        """The address of the press's article, or of the content in its place."""
        return f"{self.url}{self.press.article(slug).path}"

    @property
    def firecrawl_url(self) -> str:
        """The base address for clients of the simulated Firecrawl; `/v2/scrape` is below it."""
        return f"{self.url}/firecrawl"

    @property
    def llm_url(self) -> str:
        """The base address for clients of the simulated model."""
        return f"{self.url}/llm/v1"

    def pages(self, series: Series) -> dict[str, str]:
        """The series' page on each site that carries it."""
        return addresses(self.url, series)

    def __enter__(self) -> "RunningSimulator":
        listener = listen("127.0.0.1", 0)
        self.url = address_of(listener)
        self.mangadex_url = self.url + MangaDex.prefix
        self._thread = Thread(target=self._server.run, args=([listener],), name="simulator", daemon=True)
        self._thread.start()
        if not self._server.ready.wait(START_SECONDS):
            raise RuntimeError("the simulator did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        if self._thread:
            self._thread.join(STOP_SECONDS)
            if self._thread.is_alive():
                raise RuntimeError("the simulator did not stop")
