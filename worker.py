"""The worker: builds the dependencies, runs the Temporal workers and the ops server; drains on a signal.

    python worker.py [--queues fascicle,fetch,deliver,publish]

It uses the Temporal server of TEMPORAL_ADDRESS and the database of DATABASE_URL.
"""

import argparse
import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import httpx
from starlette.routing import Route
from temporalio.client import Client

from activities.interceptor import FascicleInterceptor
from activities.registry import activities_by_queue, retry_rules
from fascicle.domain.errors import FascicleError, RetryableError, UsageError
from fascicle.domain.names import FEED_SITE, MAIN_QUEUE, TASK_QUEUES
from fascicle.process.disk_space import FULL_BYTES, free_bytes
from fascicle.process.heap import give_back_now_and_then, keep_few_arenas
from fascicle.process.logs import configure_logs, get_logger
from fascicle.process.open_files import raise_limit
from fascicle.services.dependencies import Dependencies, open_dependencies
from fascicle.services.fics.fic_queue import FicDesk, open_desk
from fascicle.services.notifications.channel_sealing import settle_channels
from fascicle.settings.setting_names import unknown_in_words
from fascicle.settings.settings import Settings, load_settings
from fascicle.storage.database import check_schema, newest_version, ping, transaction
from fascicle.storage.operations.gauges import Sample, read_gauges
from fascicle.temporal.client import check_namespace, connect, is_serving, metrics_runtime
from fascicle.temporal.deployment import waits_for_its_turn
from fascicle.temporal.key_agreement import agree_on_keys
from fascicle.temporal.metrics import BUCKETS, Metrics
from fascicle.temporal.queue_worker import QueueWorker, shut_down
from fascicle.temporal.tracing import open_tracing
from fascicle.temporal.workflow_sandbox import Sandbox
from fascicle.web.codec import CodecRoutes
from fascicle.web.discord import DiscordRoutes
from fascicle.web.late_tasks import LateTasks
from fascicle.web.ops import OpsProbes, ops_app, read_metrics
from fascicle.web.sales import SaleRoutes
from fascicle.web.serving import serving
from fascicle.web.state import StateGauges
from workflows.feeds.enrich import EnrichItemWorkflow
from workflows.feeds.item import IngestItemWorkflow
from workflows.fics.fic import ParseFicWorkflow
from workflows.notifications.digest import DigestWorkflow
from workflows.notifications.mail import MailWorkflow
from workflows.notifications.notify import NotifyWorkflow
from workflows.operations.housekeeping import HousekeepingWorkflow
from workflows.operations.reconcile import ReconcileWorkflow
from workflows.operations.replay_letters import ReplayLettersWorkflow
from workflows.publishing.automation import AutomationWorkflow
from workflows.publishing.publish import PublishPostWorkflow
from workflows.publishing.storage_cleanup import StorageCleanupWorkflow
from workflows.publishing.token_maintenance import TokenMaintenanceWorkflow
from workflows.series.chapter import IngestChapterWorkflow
from workflows.series.source import SourceWorkflow
from workflows.series.sweep import SweepWorkflow
from workflows.summaries.request import SummarizeWorkflow
from workflows.unread_activity import OfferUnreadAgain

WORKFLOWS: Sequence[type] = (
    SourceWorkflow,
    SweepWorkflow,
    IngestChapterWorkflow,
    IngestItemWorkflow,
    NotifyWorkflow,
    PublishPostWorkflow,
    ParseFicWorkflow,
    EnrichItemWorkflow,
    SummarizeWorkflow,
    DigestWorkflow,
    HousekeepingWorkflow,
    MailWorkflow,
    ReconcileWorkflow,
    ReplayLettersWorkflow,
    TokenMaintenanceWorkflow,
    AutomationWorkflow,
    StorageCleanupWorkflow,
)
# How long a starting worker waits for Temporal and the database before it gives up with an error.
PATIENCE_SECONDS = 60.0
_LAST_SPANS_SECONDS = 3.0

log = get_logger("fascicle.worker")


def build_workers(
    client: Client, dependencies: Dependencies, metrics: Metrics, queues: Sequence[str] = TASK_QUEUES
) -> list[QueueWorker]:
    settings = dependencies.settings
    served = activities_by_queue(client, dependencies, metrics)
    interceptor = FascicleInterceptor(
        metrics, retry_base_seconds=settings.retry_base_seconds, rules=retry_rules(settings)
    )
    return [
        QueueWorker(
            client,
            settings,
            queue,
            workflows=list(WORKFLOWS) if queue == MAIN_QUEUE else [],
            activities=served[queue],
            interceptors=[interceptor, OfferUnreadAgain()],
            workflow_runner=Sandbox(),
            graceful_shutdown_timeout=timedelta(seconds=settings.drain_seconds),
            max_heartbeat_throttle_interval=timedelta(seconds=1),
        )
        for queue in queues
    ]


class WorkerProcess:
    """One worker process; /ready shows its state."""

    def __init__(self, settings: Settings, queues: Sequence[str]) -> None:
        self._settings = settings
        self._queues = queues
        self._state = "starting"
        self._client: Client | None = None
        self._metrics_address = f"127.0.0.1:{_free_port()}"
        self._late_tasks = LateTasks(self._read_metrics)
        self._timed_out = 0
        self._runtime = metrics_runtime(self._metrics_address, BUCKETS)
        self._metrics = Metrics(self._runtime.metric_meter)
        self._tracing = open_tracing("fascicle-worker")
        self._stop = asyncio.Event()

    async def run(self) -> None:
        self._install_signal_handlers()
        async with (
            open_dependencies(self._settings, gate_watch=self._metrics) as dependencies,
            self._ops_server(dependencies),
        ):
            try:
                await self._serve(dependencies)
            finally:
                if self._tracing is not None:
                    await asyncio.to_thread(self._tracing.close, _LAST_SPANS_SECONDS)

    async def _serve(self, dependencies: Dependencies) -> None:
        try:
            self._client = await _patiently(self._connect, self._stop)
            client = self._client
            await _patiently(lambda: check_namespace(client), self._stop)
            await _patiently(lambda: check_schema(dependencies.engine), self._stop)
            await _patiently(lambda: agree_on_keys(dependencies.engine, self._settings.payload), self._stop)
            await _patiently(lambda: settle_channels(dependencies), self._stop)
        except _StoppedWaiting:
            return
        for adapter in dependencies.sites.broken:
            log.error("adapter_broken", site=adapter.name, file=str(adapter.file), error=adapter.error)
        self._metrics.show_zeros([*dependencies.sites.names, FEED_SITE])
        workers = build_workers(self._client, dependencies, self._metrics, self._queues)
        _calm_the_collector()
        running = [asyncio.create_task(worker.run()) for worker in workers]
        tidying = asyncio.create_task(give_back_now_and_then())
        self._state = "running"
        log.info("worker_started", queues=list(self._queues))
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait([stopped, *running], return_when=asyncio.FIRST_COMPLETED)
        self._state = "draining"
        log.info(
            "worker_draining", active_jobs=self._metrics.active_jobs, seconds=self._settings.drain_seconds
        )
        await shut_down(workers)
        stopped.cancel()
        tidying.cancel()
        await asyncio.gather(*running)  # raises the error of a worker that failed
        log.info("worker_stopped")

    async def _connect(self) -> Client:
        traced = [self._tracing.interceptor()] if self._tracing is not None else []
        return await connect(self._settings.payload, runtime=self._runtime, interceptors=traced)

    @contextlib.asynccontextmanager
    async def _ops_server(self, dependencies: Dependencies) -> AsyncIterator[None]:
        schema = newest_version()
        state = StateGauges(
            lambda: _read_state(dependencies), self._temporal_is_up, lambda: self._own_gauges(schema)
        )
        probes = OpsProbes(
            temporal=self._temporal_is_up,
            database=lambda: _database_is_up(dependencies),
            worker=lambda: self._state,
            disk_has_room=lambda: free_bytes(self._settings.data_dir) >= FULL_BYTES,
            active_jobs=lambda: self._metrics.active_jobs,
            about=self._about,
            metrics=self._read_metrics,
            state=state.text,
        )
        discord = self._discord_routes(dependencies)
        routes = [
            *_sale_routes(dependencies),
            *_codec_routes(self._settings),
            *(discord.routes() if discord else ()),
        ]
        try:
            async with serving(ops_app(probes, routes), self._settings.ops_host, self._settings.ops_port):
                yield
        finally:
            await state.aclose()
            if discord is not None:
                await discord.close()

    def _own_gauges(self, schema: str) -> list[Sample]:
        settings, no_limit = self._settings, float("inf")
        about = (settings.build_id, schema, ",".join(self._queues))
        return [
            Sample("fascicle_build_info", about, 1),
            Sample("fascicle_disk_free_bytes", (), free_bytes(settings.data_dir)),
            Sample("fascicle_worker_running", (), self._state == "running"),
            Sample("fascicle_workflow_tasks_timed_out", (), self._timed_out),
            *_task_slots(settings, self._queues),
            Sample("fascicle_llm_tokens_daily_limit", (), settings.llm_daily_tokens or no_limit),
            Sample("fascicle_llm_cost_daily_limit", (), float(settings.llm_daily_cost) or no_limit),
        ]

    def _discord_routes(self, dependencies: Dependencies) -> DiscordRoutes | None:
        """None unless Discord's public key is set: without it, requests cannot be verified."""
        settings = self._settings
        if settings.discord_public_key is None:
            return None
        return DiscordRoutes(
            settings.discord_public_key,
            lambda: self._desk(dependencies),
            dependencies.discord,
            moderator_roles=settings.discord_moderator_roles,
            guilds=settings.discord_guilds,
            has_bot=settings.discord_bot_token is not None,
        )

    def _desk(self, dependencies: Dependencies) -> FicDesk:
        if self._client is None:
            raise RetryableError("starting", "This is still starting. Please try again in a few seconds.")
        return open_desk(dependencies, self._client)

    async def _temporal_is_up(self) -> bool:
        return self._client is not None and await is_serving(self._client)

    async def _about(self) -> dict[str, Any]:
        """The queues, the build id, and, with versioning, whether this worker gets work yet."""
        about: dict[str, Any] = {"queues": list(self._queues), "build_id": self._settings.build_id}
        if self._client is None or self._state != "running":
            return about
        with contextlib.suppress(httpx.HTTPError):
            about["workflow_tasks_timed_out"] = await self._late_tasks.lately()
        waits = await waits_for_its_turn(self._client, self._queues[0], self._settings)
        return {**about, "waits": waits} if waits else about

    async def _read_metrics(self) -> str:
        text = await read_metrics(f"http://{self._metrics_address}/metrics")
        self._timed_out = self._late_tasks.note(text)
        return text

    def _install_signal_handlers(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        if self._stop.is_set():
            log.warning("worker_stopped_at_once", active_jobs=self._metrics.active_jobs)
            _leave(128 + number)
        self._stop.set()


def _task_slots(settings: Settings, queues: Sequence[str]) -> Iterator[Sample]:
    """Labelled with the SDK's own names for kinds of workers, so that they match its metrics."""
    for queue in queues:
        yield Sample("fascicle_task_slots", (queue, "ActivityWorker"), settings.activity_slots(queue))
    if MAIN_QUEUE in queues:
        yield Sample("fascicle_task_slots", (MAIN_QUEUE, "WorkflowWorker"), settings.workflow_slots)


def _sale_routes(dependencies: Dependencies) -> list[Route]:
    settings = dependencies.settings
    sales = SaleRoutes(
        dependencies.engine, settings.client_token, settings.sale_claim_seconds, dependencies.clock
    )
    return sales.routes()


def _codec_routes(settings: Settings) -> list[Route]:
    return CodecRoutes(settings.payload, settings.codec_token, settings.codec_origins).routes()


async def _database_is_up(dependencies: Dependencies) -> bool:
    try:
        async with asyncio.timeout(3):
            await ping(dependencies.engine)
    except (FascicleError, TimeoutError):
        return False
    return True


async def _read_state(dependencies: Dependencies) -> list[Sample]:
    settings = dependencies.settings
    async with transaction(dependencies.engine) as connection:
        return await read_gauges(
            connection, notify_delay_seconds=settings.notify_delay_seconds, sweeps=settings.sweep
        )


class _StoppedWaiting(Exception):
    """A signal came before the worker had started."""


async def _patiently(attempt: Callable[[], Any], stop: asyncio.Event) -> Any:
    """Retry for a minute: services on one machine start in any order."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while True:
        try:
            return await attempt()
        except RetryableError as error:
            if stop.is_set():
                raise _StoppedWaiting from error
            if asyncio.get_running_loop().time() > deadline:
                raise
            log.warning("waiting_for_service", error=error.message)
            await asyncio.sleep(1)


def _calm_the_collector() -> None:
    """Pages of JSON are many objects and little garbage; collecting it took 30 % of a backfill's CPU."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 100)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _leave(code: int) -> None:
    """Exit at once, as all clean-up is done: the SDK's threads sometimes abort a normal interpreter exit."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _queues(text: str) -> list[str]:
    # Remove duplicates: two workers of one process on one queue would disturb each other.
    queues = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if unknown := [name for name in queues if name not in TASK_QUEUES]:
        raise argparse.ArgumentTypeError(
            f"there is no queue {', '.join(unknown)}; choose from {', '.join(TASK_QUEUES)}"
        )
    if not queues:
        raise argparse.ArgumentTypeError(f"choose from {', '.join(TASK_QUEUES)}")
    return queues


def main() -> None:
    parser = argparse.ArgumentParser(description="Run a Fascicle worker.")
    parser.add_argument(
        "--queues", type=_queues, default=list(TASK_QUEUES), help="comma-separated task queues (default: all)"
    )
    arguments = parser.parse_args()
    code = 0
    try:
        settings = load_settings()
        configure_logs(settings.log_level, settings.log_format)
        raise_limit()
        keep_few_arenas()
        for problem in unknown_in_words():
            log.warning("unknown_setting", error=problem)
        asyncio.run(_main(settings, arguments.queues))
    except UsageError as error:
        sys.stderr.write(f"{error.message}\n")
        code = 2
    except FascicleError as error:
        log.error("worker_refused", code=error.code, error=error.message)
        code = 1
    except Exception:
        log.exception("worker_broke")
        code = 1
    _leave(code)


async def _main(settings: Settings, queues: Sequence[str]) -> None:
    await WorkerProcess(settings, queues).run()


if __name__ == "__main__":
    main()
