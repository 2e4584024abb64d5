"""The state of the whole installation, beside the counters of this process in /metrics (O1)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from fascicle.process.logs import get_logger
from fascicle.storage.operations.gauges import GAUGES, Gauge, Sample
from fascicle.web.exposition import exposition

log = get_logger("fascicle.ops")

READ_EVERY_SECONDS = 5.0
# A scrape waits so long for fresh numbers; then it shows the last ones with their age.
PATIENCE_SECONDS = 1.0
# A longer read is given up, and the database counts as down.
LONGEST_READ_SECONDS = 10.0
# Older numbers are not shown, because they would be taken for current ones.
SHOWN_FOR_SECONDS = 300.0
# However large the tables are, reading them takes about this share of the time. But the pause between two
# reads is never longer than a minute.
_SHARE_OF_TIME = 0.05
_LONGEST_REST_SECONDS = 60.0

OWN_GAUGES = {
    "fascicle_build_info": Gauge(
        "Which version runs, on which schema; always 1", ("version", "schema", "queues")
    ),
    "fascicle_worker_running": Gauge("1: this worker takes work; 0: it starts, or drains"),
    "fascicle_task_slots": Gauge(
        "How many activities or workflow tasks of a task queue this worker does at once, at most",
        ("task_queue", "worker_type"),
    ),
    "fascicle_workflow_tasks_timed_out": Gauge(
        "Workflow tasks that Temporal gave up before this worker had finished them, since its start"
    ),
    "fascicle_disk_free_bytes": Gauge("Room left where this worker's data folder is"),
    "fascicle_temporal_up": Gauge("1: Temporal answers this worker"),
    "fascicle_database_up": Gauge("1: the database answers this worker in time"),
    "fascicle_state_age_seconds": Gauge("How old the numbers are that were read from the database"),
    "fascicle_llm_tokens_daily_limit": Gauge("What all requests of a day may use; +Inf: no limit"),
    "fascicle_llm_cost_daily_limit": Gauge("What all requests of a day may cost; +Inf: no limit"),
}


class StateGauges:
    """Limits how often the state is read, and never lets a scrape wait for a slow database."""

    def __init__(
        self,
        read: Callable[[], Awaitable[Sequence[Sample]]],
        temporal: Callable[[], Awaitable[bool]],
        own: Callable[[], Sequence[Sample]],
        *,
        every_seconds: float = READ_EVERY_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """`own` returns facts of this process, which need no waiting."""
        self._read = read
        self._temporal = temporal
        self._own = own
        self._every = every_seconds
        self._patience = patience_seconds
        self._samples: Sequence[Sample] = ()
        self._read_at: float | None = None
        self._next_read_at = self._took = 0.0
        self._database_up = self._temporal_up = False
        self._reading: asyncio.Task[None] | None = None

    async def text(self) -> str:
        if self._reading is None and time.monotonic() >= self._next_read_at:
            self._reading = asyncio.create_task(self._refresh())
        if self._reading is not None:
            await asyncio.wait([self._reading], timeout=self._patience)
        return exposition(OWN_GAUGES | GAUGES, [*self._own(), *self._about_servers(), *self._shown()])

    async def aclose(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _refresh(self) -> None:
        try:
            await asyncio.gather(self._ask_temporal(), self._read_state())
        finally:
            self._reading = None

    async def _ask_temporal(self) -> None:
        self._temporal_up = await self._temporal()

    async def _read_state(self) -> None:
        began = time.monotonic()
        self._next_read_at = began + self._every
        try:
            async with asyncio.timeout(LONGEST_READ_SECONDS):
                self._samples = await self._read()
        except (
            Exception
        ) as error:  # including the error of a schema that is missing: a scrape must never fail for it
            self._database_up = False
            log.warning("state_not_read", error=str(error) or type(error).__name__)
            return
        self._database_up, self._read_at = True, time.monotonic()
        before, self._took = self._took, self._read_at - began
        # Two slow reads in a row mean large tables; a single one means a passing cause.
        rest = min(before, self._took) / _SHARE_OF_TIME
        self._next_read_at = began + max(self._every, min(rest, _LONGEST_REST_SECONDS))

    @property
    def _age(self) -> float | None:
        return None if self._read_at is None else time.monotonic() - self._read_at

    def _shown(self) -> Sequence[Sample]:
        return () if self._age is None or self._age > SHOWN_FOR_SECONDS else self._samples

    def _about_servers(self) -> list[Sample]:
        known = [
            Sample("fascicle_temporal_up", (), self._temporal_up),
            Sample("fascicle_database_up", (), self._database_up),
        ]
        age = self._age
        return known if age is None else [*known, Sample("fascicle_state_age_seconds", (), round(age, 3))]
