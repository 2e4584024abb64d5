"""Requests whose workers are killed at every moment of their lives, each request at a moment of its own.

A wave is one worker: its requests go as far as their moments, then it is killed with all of them at once.
The books and the ledgers of the upstreams that cost are the judges.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from simulator.faults import ArmedFault, Fault
from simulator.llm import LlmScript
from tests.chaos.request_books import RequestBooks, nothing_is_open, read_request_books
from tests.chaos.request_moments import WORDS, Moment, rounds, waves
from tests.chaos.request_places import Places, open_places
from tests.chaos.wire import Wire, open_wire
from tests.harness import eventually
from tests.requests import article, ask
from tests.starter.forked_workers import ForkedWorker, ForkedWorkers
from tests.starter.services import Site

RECOVERY_SECONDS = 90.0
FIRECRAWL_KEY = "fc-sim-0001"

# All of a wave are under way at once. A long text has parts; what a lost question may have cost is known.
SETTINGS: dict[str, Any] = {
    "request_concurrency": 100,
    "max_concurrent_deliveries": 40,
    "article_interval_seconds": 0,
    "retry_base_delay_ms": 50,
    "llm_context_tokens": 4500,
    "llm_output_tokens": 800,
    "llm_price_input": 0.5,
    "llm_price_output": 1.5,
}
# What shows that a request has done what it was about to do.
_EFFECTS = {
    "running": "select status = 'running' from request where id = :id",
    "article": "select exists (select 1 from request_article where request_id = :id)",
    "answered": """select exists (select 1 from llm_call
                   where request_id = :id and state = 'answered' and step = :last)""",
    "verdict": "select validated is not null or problems <> '{}' from request where id = :id",
    "succeeded": "select status = 'succeeded' from request where id = :id",
    "failed": "select status = 'failed' from request where id = :id",
    "sent": "select state = 'sent' from delivery where job_key = 'request-' || cast(:id as text)",
}


@dataclass
class RequestReport:
    moments: dict[str, Moment] = field(default_factory=dict)
    """By the ids of their requests."""
    struck: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    """It was over before it could be held, since an earlier one was held in its stead."""
    kills: int = 0
    books: RequestBooks | None = None

    def summary(self) -> str:
        assert self.books is not None
        books = self.books
        ends = Counter(fate.status for fate in books.fates.values())
        told = Counter(state for fate in books.fates.values() for _, state, _ in fate.told)
        return (
            f"{len(self.moments)} requests: {dict(ends)}; {self.kills} kills struck {self.struck.total()} at "
            f"{len(self.struck)} moments, {len(self.missed)} missed; {books.questions} questions in "
            f"{books.paid_calls} paid calls ({dict(books.calls)} in our books), {books.fetches} fetches, "
            f"{books.scrapes} scrapes; {len(books.repeated)} paid again after the answer was kept; "
            f"messages: {dict(told)}"
        )


class RequestExperiment:
    def __init__(
        self, site: Site, workers: ForkedWorkers, cleanup: AsyncExitStack, moments: Sequence[Moment]
    ) -> None:
        self._site = site
        self._harness = site.harness
        self._workers = workers
        self._cleanup = cleanup
        self._moments = moments
        self._report = RequestReport()
        self._places: Places
        self._wire: Wire

    async def run(self) -> RequestReport:
        self._places = await self._cleanup.enter_async_context(open_places(self._site.env["DATABASE_URL"]))
        wire = open_wire(self._site.env["TEMPORAL_ADDRESS"])
        self._wire = await self._cleanup.enter_async_context(wire)
        self._harness.simulator.llm.configure(context_tokens=SETTINGS["llm_context_tokens"])
        for struck in rounds(self._moments):
            for wave in waves(struck):
                await self._strike(wave)
            await self._recover()
        self._report.books = await read_request_books(self._harness)
        return self._report

    async def _strike(self, wave: list[Moment]) -> None:
        numbered = [(self._enlist(moment), moment) for moment in wave]
        async with await self._hire(paid_page=wave[0].paid_page) as worker:
            together = [one for one in numbered if not one[1].is_alone]
            await asyncio.gather(*(self._ask_and_hold(*one) for one in together))
            for one in numbered:
                if one[1].is_alone:
                    await self._ask_and_hold(*one)
            if wave[0].unreported:
                await self._let_them_go_on(numbered)
            worker.kill()
        self._report.kills += 1
        self._harness.simulator.faults.release(drop=True)
        self._harness.simulator.faults.clear()
        self._harness.simulator.llm.unscript()
        await self._places.unblock()
        self._wire.mend()

    def _enlist(self, moment: Moment) -> str:
        request_id = f"r{len(self._report.moments):04}"
        self._report.moments[request_id] = moment
        return request_id

    async def _hire(self, *, paid_page: bool = False) -> ForkedWorker:
        env = self._site.env | {"TEMPORAL_ADDRESS": self._wire.address}
        if paid_page:
            url = self._harness.simulator.firecrawl_url
            env |= {"FASCICLE_FIRECRAWL_URL": url, "FASCICLE_FIRECRAWL_API_KEY": FIRECRAWL_KEY}
        worker = self._workers.start(self._site.folder, env)
        await self._site.until_ready()
        return worker

    async def _ask_and_hold(self, request_id: str, moment: Moment) -> None:
        held: ArmedFault | None = None
        if moment.held == "inside":
            await self._places.block(moment.place, request_id)
        else:
            held = self._harness.simulator.faults.add(Fault.model_validate(moment.fault(request_id)))
        if moment.shape == "broken":
            self._harness.simulator.llm.script(LlmScript(kind="missing_field", field="tldr"))
        await self._ask(request_id, moment)

        async def stands() -> bool:
            if held is not None:
                return held.report().held > 0
            return await self._places.is_reached(moment.place, request_id)

        async def stands_or_is_over() -> bool:
            return await stands() or await self._is_over(request_id)

        await eventually(stands_or_is_over, what=f"{request_id} to stand at {moment.name}")
        if await stands():
            self._report.struck[moment.name] += 1
        else:
            self._report.missed.append(moment.name)

    async def _ask(self, request_id: str, moment: Moment) -> None:
        await self._harness.reader(request_id)
        url = article(
            self._harness, title=f"Lamps of {request_id}", slug=request_id, words=WORDS[moment.shape]
        )
        await ask(self._harness, url, request_id=request_id, user=request_id)

    async def _is_over(self, request_id: str) -> bool:
        return bool(
            await self._harness.value(
                """select exists (select 1 from delivery where job_key = 'request-' || cast(:id as text)
                   and state in ('sent', 'unconfirmed'))""",
                id=request_id,
            )
        )

    async def _let_them_go_on(self, numbered: list[tuple[str, Moment]]) -> None:
        """Out of Temporal's sight."""
        self._wire.cut()
        await self._places.unblock()
        for request_id, moment in numbered:
            last = "correction" if moment.shape == "broken" else "summary"
            values = {"id": request_id} | ({"last": last} if moment.at == "answered" else {})

            async def is_done(sql: str = _EFFECTS[moment.at], values: dict[str, str] = values) -> bool:
                return bool(await self._harness.value(sql, **values))

            await eventually(is_done, what=f"{request_id} to have its {moment.at}")

    async def _recover(self) -> None:
        async with await self._hire():
            await eventually(
                lambda: nothing_is_open(self._harness),
                within=RECOVERY_SECONDS,
                what="every request over and told",
            )
