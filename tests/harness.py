"""The lightest real stack for a test: a database of its own, workers in this process, the simulator."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import SecretStr
from sqlalchemy import text
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import MetricMeter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from fascicle.domain.names import TASK_QUEUES
from fascicle.sandbox import Sandbox
from fascicle.services.dependencies import Dependencies, open_dependencies
from fascicle.services.series.onboarding import add_source
from fascicle.settings.settings import Settings
from fascicle.storage.database import transaction
from fascicle.storage.notifications.channel import add_channel
from fascicle.storage.series import library
from fascicle.temporal.metrics import Metrics
from fascicle.temporal.queue_worker import shut_down
from simulator.series import Series
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec
from tests.vaults import TOKEN_KEY
from worker import build_workers

T = TypeVar("T")
# 32 bytes that everybody may know.
ADAPTERS = Path(__file__).parents[1] / "sites.d"


async def eventually(
    condition: Callable[[], Awaitable[T]], *, within: float = 40.0, what: str = "the condition"
) -> T:
    """Wait until `condition` gives something true, and return it."""
    began = time.monotonic()
    while True:
        value = await condition()
        if value:
            return value
        waited = time.monotonic() - began
        assert waited < within, f"{what} did not come about within {within} s; last: {value!r}"
        # Whatever takes long is looked for less often: looking costs more than the work of many tests.
        await asyncio.sleep(min(0.25, max(0.03, waited / 10)))


def adapter_variables(simulator: RunningSimulator) -> dict[str, str]:
    """The two worked examples in `sites.d`, at the simulator."""
    return {
        name: value
        for site in ("inkpages", "panelbox")
        for name, value in (
            (f"FASCICLE_SITE_{site.upper()}_URL", simulator.site_url(site)),
            (f"FASCICLE_SITE_{site.upper()}_INTERVAL_SECONDS", "0"),
        )
    }


def settings_for(database_url: str, simulator: RunningSimulator, **overrides: Any) -> Settings:
    """Fast and unjittered enough for tests; polls happen when a test asks for them."""
    values: dict[str, Any] = {
        "database_url": SecretStr(database_url),
        "mangadex_url": simulator.mangadex_url,
        "mangadex_interval_seconds": 0,
        "mangaplus_url": simulator.site_url("mangaplus"),
        "mangaplus_interval_seconds": 0,
        "weebcentral_url": simulator.site_url("weebcentral"),
        "weebcentral_interval_seconds": 0,
        "sites_dir": ADAPTERS,
        "site_variables": adapter_variables(simulator),
        "deviantart_url": simulator.site_url("deviantart"),
        "deviantart_client_id": simulator.deviantart.options.client_id,
        "deviantart_client_secret": SecretStr(simulator.deviantart.options.client_secret),
        "token_keys": SecretStr(TOKEN_KEY),
        "account_interval_seconds": 0,
        "account_jitter": 0,
        "ao3_url": simulator.site_url("ao3"),
        "ao3_interval_seconds": 0,
        "ao3_jitter": 0,
        "ao3_think_seconds": [0, 0],
        "ao3_pause_jobs": [1000, 1000],
        "ao3_cooldown_errors": 100,
        "royalroad_url": simulator.site_url("royalroad"),
        "discord_url": simulator.site_url("discord"),
        "youtube_url": simulator.site_url("youtube"),
        "spotify_url": simulator.site_url("spotify"),
        "soundcloud_url": simulator.site_url("soundcloud"),
        "feed_interval_seconds": 0,
        "enrich": False,
        "enrich_interval_seconds": 0,
        "article_interval_seconds": 0,
        "retry_base_delay_ms": 20,
        "retry_max_delay_ms": 200,
        "fic_interval_seconds": 0,
        "fic_retry_seconds": 0.05,
        "fic_attempts": 3,
        "ship_rules": Path("no-rules.yaml"),
        "allow_hosts": ["127.0.0.1"],
        "retry_base_seconds": 0.05,
        "drain_seconds": 5,
        "max_pollers": 2,
        "sweep": False,
        "notify_delay_seconds": 0,
        **overrides,
    }
    return Settings(**values)


@dataclass
class Harness:
    """What a test works with. `client` starts workflows; give it a time-skipping one to travel."""

    dependencies: Dependencies
    client: Client
    simulator: RunningSimulator

    @asynccontextmanager
    async def workers(self, *queues: str, metrics: Metrics | None = None) -> AsyncIterator[Sequence[Worker]]:
        """Of these task queues, or of all."""
        metrics = metrics or Metrics(MetricMeter.noop)
        running = build_workers(self.client, self.dependencies, metrics, queues or TASK_QUEUES)
        tasks = [asyncio.create_task(worker.run()) for worker in running]
        try:
            yield running
        finally:
            await shut_down(running)
            await asyncio.gather(*tasks)

    def another(self, settings: Settings) -> AbstractAsyncContextManager["Harness"]:
        """The same with other settings."""
        return open_harness(settings, self.client, self.simulator, self.dependencies.sandbox)

    def series(self, title: str = "Lanterns", chapters: int = 3, **spec: Any) -> Series:
        return self.simulator.world.add_series(SeriesSpec(title=title, chapters=chapters, **spec))

    def release(self, series: Series, **upload: Any) -> Any:
        return self.simulator.world.release(series.id, UploadSpec(**upload))[0]

    async def reader(self, name: str) -> str:
        """A user who is told through the simulator's sink of that name."""
        channel = self.simulator.url.replace("http://", "json://") + f"/sink/{name}"
        async with transaction(self.dependencies.engine) as connection:
            user_id, _ = await library.add_user(connection, name)
            await add_channel(connection, self.dependencies.vault, user_id, channel)
        return user_id

    async def follow(self, name: str, series_id: str) -> str:
        """Such a user who follows the series."""
        user_id = await self.reader(name)
        async with transaction(self.dependencies.engine) as connection:
            await library.follow(connection, user_id, series_id)
        return user_id

    async def add(self, upstream: Series, /, *, site: str = "mangadex", **options: Any) -> dict[str, Any]:
        url = self.simulator.pages(upstream)[site]
        return (await add_source(self.dependencies, self.client, url, **options)).source

    async def add_and_sync(self, upstream: Series, /, **options: Any) -> dict[str, Any]:
        source = await self.add(upstream, **options)
        await eventually(lambda: self.source_value(source["id"], "first_synced_at"), what="the first sync")
        return source

    def workflow(self, source: dict[str, Any]) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(f"source-{source['id']}")

    async def status(self, source: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = await self.workflow(source).query("status")
        return answer

    async def poll(self, source: dict[str, Any]) -> None:
        """Ask for a poll and wait until it is over and its children are started."""
        before = (await self.status(source))["polls"]
        await self.workflow(source).signal("poll_now")

        async def over() -> bool:
            now = await self.status(source)
            rests = "next " in now["waiting_for"] or "resume" in now["waiting_for"]
            return bool(now["polls"] > before and rests)

        await eventually(over, what="the poll")

    async def source_value(self, source_id: str, column: str) -> Any:
        return await self.value(f"select {column} from source where id = :id", id=source_id)

    async def value(self, sql: str, **parameters: Any) -> Any:
        async with transaction(self.dependencies.engine) as connection:
            return await connection.scalar(text(sql), parameters)

    async def rows(self, sql: str, **parameters: Any) -> list[dict[str, Any]]:
        async with transaction(self.dependencies.engine) as connection:
            return [dict(row) for row in (await connection.execute(text(sql), parameters)).mappings()]

    async def execute(self, sql: str, **parameters: Any) -> None:
        async with transaction(self.dependencies.engine) as connection:
            await connection.execute(text(sql), parameters)

    async def chapter_count(self) -> int:
        return int(await self.value("select count(*) from logical_chapter"))

    async def messages(self, count: int) -> None:
        """Until the sink has that many."""

        async def arrived() -> bool:
            return len(self.simulator.sink.messages()) >= count

        await eventually(arrived, what=f"{count} messages")

    async def all_quiet(self, *, within: float = 40.0) -> None:
        """Until no ingest or notification is under way."""
        query = "ExecutionStatus = 'Running' AND WorkflowType NOT IN ('SourceWorkflow', 'SweepWorkflow')"

        async def nothing_runs() -> bool:
            owed = await self.value("select count(*) from logical_chapter where announce = 'owed'")
            return not owed and not [w async for w in self.client.list_workflows(query)]

        await eventually(nothing_runs, within=within, what="quiet")
        await asyncio.sleep(0.3)  # what was started a moment ago shows up in listings only now
        await eventually(nothing_runs, within=within, what="quiet")


@asynccontextmanager
async def open_harness(
    settings: Settings, client: Client, simulator: RunningSimulator, sandbox: Sandbox | None = None
) -> AsyncIterator[Harness]:
    """`sandbox`: the session's, whose processes run already."""
    async with open_dependencies(settings, sandbox=sandbox) as dependencies:
        yield Harness(dependencies, client, simulator)


async def terminate_everything(client: Client) -> None:
    async for execution in client.list_workflows("ExecutionStatus = 'Running'"):
        if execution.status is WorkflowExecutionStatus.RUNNING:
            await terminate_if_running(client, execution.id)


async def terminate_if_running(client: Client, workflow_id: str) -> None:
    """Listings lag behind: it may have ended by itself."""
    try:
        await client.get_workflow_handle(workflow_id).terminate("the test is over")
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
