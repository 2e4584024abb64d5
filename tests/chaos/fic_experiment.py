"""A queue of fics worked off by three workers that are killed now and then, in the middle of requests and at
random moments. The archive's log is the judge of how politely it was asked."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

from fascicle.domain.names import LOOK_AGAIN_SIGNAL, fic_workflow_id
from simulator.ao3.records import Ao3SeriesSpec, WorkSpec
from simulator.faults import Fault
from simulator.request_log import LoggedRequest
from tests.chaos.books import Books, Chapter, Telling
from tests.chaos.fic_books import doubts_without_a_letter, nothing_is_open, read_fic_books
from tests.chaos.fic_crew import Crew, Member
from tests.fics import ARCHIVE, desk, reader
from tests.harness import eventually
from tests.starter.forked_workers import ForkedWorkers
from tests.starter.services import Site

FLOOR = 0.6
CREW = 3
READERS = ("ann", "bob")
RECOVERY_SECONDS = 90.0
SECONDS_PER_FIC = 5.0
RETRY_AFTER = 2
# Long enough to ask for another fic meanwhile, and to be killed.
SLOW_SECONDS = 2.5
LATEST_MOMENT = 1.0
FAILURES = (429, 525)

# As the defaults, only faster.
SETTINGS: dict[str, Any] = {
    "ao3_interval_seconds": FLOOR,
    "ao3_jitter": 0.2,
    "ao3_think_seconds": [0, 0.05],
    "ao3_pause_jobs": [1000, 1000],
    "ao3_cooldown_errors": 100,
    "fic_retry_seconds": 0.2,
    "fic_attempts": 10,
    "fic_tell_start": True,
    "http_timeout_seconds": 3,
    "ship_rules": "no-rules.yaml",
    "gate_patience_seconds": 1,
}


@dataclass
class FicReport:
    """What was to come in and to be told, what did and was; and how the archive was asked for it."""

    fics: set[Chapter] = field(default_factory=set)
    tellings: set[Telling] = field(default_factory=set)
    starts: set[Telling] = field(default_factory=set)
    books: Books | None = None
    doubts_without_a_letter: list[Telling] = field(default_factory=list)
    kills: int = 0
    requests: list[LoggedRequest] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    """Numbers of requests whose answer died with their worker."""

    def gaps(self) -> list[float]:
        return [later.monotonic - earlier.monotonic for earlier, later in pairwise(self.requests)]

    def rests(self) -> list[float]:
        """From the end of each request to the next."""
        return [
            later.monotonic - earlier.monotonic - (earlier.seconds or 0.0)
            for earlier, later in pairwise(self.requests)
        ]

    def asked_for_nothing(self) -> dict[str, int]:
        """Pages that were asked for again although an answer had been kept."""
        kept = Counter(
            f"{entry.path}?{entry.query}"
            for entry in self.requests
            if entry.number not in self.lost and entry.status not in FAILURES
        )
        return {page: count for page, count in kept.items() if count > 1}

    def after_refusals(self) -> list[float]:
        """How long the archive was left alone after each 429."""
        return [b.monotonic - a.monotonic for a, b in pairwise(self.requests) if a.status == 429]

    def summary(self) -> str:
        assert self.books is not None
        states = Counter(state for _, state in self.books.chapters)
        told = Counter(self.books.states.values())
        return (
            f"{len(self.fics)} fics: {dict(states)}; {self.kills} kills, {len(self.requests)} requests, "
            f"{len(self.lost)} answers lost with their worker; shortest distance {min(self.gaps()):.3f} s, "
            f"shortest rest {min(self.rests()):.3f} s (floor {FLOOR} s); messages: {dict(told)}"
        )


class FicExperiment:
    def __init__(
        self, site: Site, workers: ForkedWorkers, cleanup: AsyncExitStack, *, fics: int, seed: int
    ) -> None:
        self._site = site
        self._harness = site.harness
        self._crew = Crew(site, workers, cleanup)
        self._size = fics
        self._kills = max(4, fics // 5)
        self._random = Random(seed)
        self._report = FicReport()

    async def run(self) -> FicReport:
        for name in READERS:
            await reader(self._harness, name)
        for _ in range(CREW):
            await self._crew.hire()
        await self._site.until_ready()
        urls = [self._publish(number) for number in range(self._size)]
        early, late = urls[self._kills :], urls[: self._kills]
        await asyncio.gather(*map(self._submit, early))
        self._refuse_now_and_then()
        for number, url in enumerate(late, start=1):
            await self._strike(url, number)
        within = RECOVERY_SECONDS + SECONDS_PER_FIC * self._size
        await eventually(
            lambda: nothing_is_open(self._harness), within=within, what="every fic read and told"
        )
        return await self._finish()

    def _publish(self, number: int) -> str:
        """A one-shot, a work of several chapters (two requests), a series of two pages, a deleted work."""
        archive = self._harness.simulator.ao3
        kind = number % 6
        if kind == 2:
            parts = [archive.add_work(WorkSpec(title=f"Part {n} of {number}")) for n in range(1, 23)]
            series = archive.add_series(
                Ao3SeriesSpec(title=f"Series {number}", works=tuple(w.id for w in parts))
            )
            return self._expect(f"{ARCHIVE}/series/{series.id}", f"ao3-series-{series.id}", "series-done")
        chapters = 3 if kind == 4 else 1
        work = archive.add_work(
            WorkSpec(title=f"Fic {number}", chapters=chapters, chapters_total=chapters, deleted=kind == 3)
        )
        state = "error" if work.deleted else "done"
        return self._expect(f"{ARCHIVE}/works/{work.id}", f"ao3-work-{work.id}", state)

    def _expect(self, url: str, key: str, state: str) -> str:
        self._report.fics.add((url, state))
        ended = "failed" if state == "error" else "done"
        self._report.tellings |= {(name, key, ended) for name in READERS}
        return url

    async def _submit(self, url: str) -> None:
        await asyncio.gather(*(desk(self._harness).add(url, name, wait_seconds=0) for name in READERS))

    def _refuse_now_and_then(self) -> None:
        faults = self._harness.simulator.faults
        # Each doubles the distance for a while, so they are far apart.
        for skip in range(7, 7 + max(1, self._size // 30) * 25, 25):
            faults.add(Fault(path="/ao3", status=525, count=1, skip=skip))
            faults.add(Fault(path="/ao3", status=429, retry_after=RETRY_AFTER, count=1, skip=skip))

    async def _strike(self, url: str, number: int) -> None:
        """Kill whoever waits for the archive's answer or, every second time, anybody at any moment; somebody
        takes the place. Meanwhile somebody asks for `url`, which is put before all others."""
        in_flight = number % 2 == 1
        if in_flight:
            await self._make_one_slow()
        await self._submit(url)
        await self._put_first(url, number)
        await asyncio.sleep(self._random.uniform(0, LATEST_MOMENT))
        self._crew.kill(await self._waiting() if in_flight else self._random.choice(self._crew.alive))
        await self._crew.hire()

    async def _make_one_slow(self) -> None:
        slow = self._harness.simulator.faults.add(
            Fault(path="/ao3", kind="delay", delay=SLOW_SECONDS, count=1)
        )

        async def under_way() -> bool:
            return slow.hits > 0

        await eventually(under_way, what="a slow request")

    async def _waiting(self) -> Member:
        """On a busy machine the slow request may be over by now: then another one is."""
        while (found := self._crew.in_flight()) is None:
            await self._make_one_slow()
        return found

    async def _put_first(self, url: str, number: int) -> None:
        """So that the gate alone keeps it from asking while the dead one's request may be under way."""
        key = await self._harness.value(
            """update fic_job set queued_at = queued_at - make_interval(mins => :minutes)
               where url = :url and state = 'pending' returning key""",
            url=url,
            minutes=number,
        )
        if key is not None:
            await self._harness.client.get_workflow_handle(fic_workflow_id(key)).signal(LOOK_AGAIN_SIGNAL)

    async def _finish(self) -> FicReport:
        await asyncio.sleep(2 * FLOOR)  # nobody asks for more
        report = self._report
        report.books = await read_fic_books(self._harness)
        # Who asks for a fic that is being read already is not told of its start.
        report.starts = {telling for telling in report.books.notifications if telling[2] == "start"}
        report.doubts_without_a_letter = await doubts_without_a_letter(self._harness)
        report.kills = self._crew.kills
        report.requests = self._crew.requests()
        report.lost = {entry.number for entry in report.requests if self._crew.was_lost(entry)}
        return report
