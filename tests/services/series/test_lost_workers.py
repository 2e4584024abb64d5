"""A worker that ends during polls: the source that does it again and again is blamed, not its neighbours."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.common import MetricMeter
from temporalio.testing import ActivityEnvironment

from activities.fics.fic import FicFailureInput
from activities.registry import activities_by_queue
from activities.series.source import PollFailure, SourceActivities
from fascicle.domain.errors import ErrorRecord, FascicleError, MustWait, PermanentError
from fascicle.domain.fics.fic import FicKind, FicRef
from fascicle.domain.names import MAIN_QUEUE
from fascicle.domain.series.source_facts import SourceFacts
from fascicle.services.series.lost_workers import LOST_AGAIN, WORKER_LOST, noted_poll
from fascicle.services.series.next_check import poll_policy
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic_job
from fascicle.storage.series import source as sources
from fascicle.storage.series import source_loss
from fascicle.storage.series.source import Source
from fascicle.temporal.metrics import Metrics
from tests.harness import Harness
from tests.newsstand import NOW, Newsstand


class Polls:
    """Polls that end as a test wants, without a site."""

    def __init__(self, harness: Harness) -> None:
        self.engine: AsyncEngine = harness.dependencies.engine
        self.desk = SourceActivities(
            self.engine,
            harness.dependencies.sites,
            poll_policy(harness.dependencies.settings),
            Metrics(MetricMeter.noop),
        )
        self.stand = Newsstand(self.engine)
        self.now = NOW

    async def source(self, source_id: str) -> Source:
        async with transaction(self.engine) as connection:
            found = await sources.get(connection, source_id)
        assert found is not None
        return found

    async def end_the_worker(self, source_id: str) -> None:
        """A poll begins, and nothing of it is ever heard again."""
        async with transaction(self.engine) as connection:
            await source_loss.begin(connection, source_id)

    async def attempt(self, source_id: str, *, watched: bool = False) -> FascicleError | None:
        """A poll that the worker survives."""
        try:
            async with noted_poll(self.engine, await self.source(source_id), watched=watched):
                return None
        except FascicleError as error:
            return error

    async def give_up(self, source_id: str, code: str = WORKER_LOST) -> SourceFacts:
        """What the workflow reports when no attempt came back."""
        self.now += timedelta(minutes=5)
        error = ErrorRecord(error_type="TimeoutError", error_code=code, message="No worker.", retryable=True)
        failure = PollFailure(source_id=source_id, now=self.now, error=error, attempts=1)
        facts = await ActivityEnvironment().run(self.desk.record_poll_failure, failure)
        assert facts is not None
        return facts


@pytest.fixture
def polls(harness: Harness) -> Polls:
    return Polls(harness)


async def test_x2_a_source_that_ends_the_worker_again_and_again_opens_its_circuit(polls: Polls) -> None:
    hostile = await polls.stand.followed("hostile")
    seen: list[tuple[int, str]] = []
    for _ in range(7):
        facts = await polls.give_up(hostile)
        seen.append((facts.failure_count, facts.circuit))
    assert seen == [(n, "closed") for n in (0, 0, 1, 2, 3, 4)] + [(5, "open")]
    [row] = await polls.stand.rows("select * from source where id = :id", id=hostile)
    assert row["last_error_code"] == LOST_AGAIN
    assert "The worker ended 7 times in a row while it polled this source." in row["last_error"]
    [letter] = await polls.stand.rows("select * from dead_letter")
    assert (letter["kind"], letter["error_code"]) == ("poll", LOST_AGAIN)


async def test_x2_lost_attempts_of_one_poll_count_each(polls: Polls) -> None:
    hostile = await polls.stand.followed("hostile")
    for _ in range(3):
        await polls.end_the_worker(hostile)
    error = await polls.attempt(hostile)
    assert isinstance(error, PermanentError)
    assert error.code == LOST_AGAIN
    # The next poll is let through: it may have been something else.
    assert await polls.attempt(hostile) is None
    assert (await polls.source(hostile)).losses == 0


async def test_x2_a_neighbour_is_polled_alone_and_cleared_by_one_good_poll(polls: Polls) -> None:
    hostile, healthy = await polls.stand.followed("hostile"), await polls.stand.followed("healthy")
    for _ in range(2):
        for source_id in (hostile, healthy):
            await polls.give_up(source_id)
        await polls.end_the_worker(hostile)
        waits = await polls.attempt(healthy, watched=True)
        assert isinstance(waits, MustWait)
        assert (waits.refused, waits.by_hand) == (False, False)
        await polls.give_up(hostile)
        assert await polls.attempt(healthy, watched=True) is None
        assert (await polls.source(healthy)).losses == 0
    assert (await polls.source(hostile)).losses == 4
    assert (await polls.source(healthy)).breaker.failures == 0


async def test_x2_a_suspect_that_never_came_back_keeps_nobody_waiting_for_long(polls: Polls) -> None:
    lost, healthy = await polls.stand.followed("lost"), await polls.stand.followed("healthy")
    for source_id in (lost, healthy):
        await polls.give_up(source_id)
    await polls.end_the_worker(lost)
    await polls.stand.execute("update source set poll_begun_at = poll_begun_at - interval '2 minutes'")
    assert await polls.attempt(healthy) is None


async def test_x2_a_poll_that_fails_by_itself_neither_counts_nor_clears(polls: Polls) -> None:
    source_id = await polls.stand.followed("blog")
    await polls.give_up(source_id)
    with pytest.raises(ZeroDivisionError):
        async with noted_poll(polls.engine, await polls.source(source_id), watched=True):
            raise ZeroDivisionError
    assert (await polls.source(source_id)).losses == 1
    await polls.give_up(source_id, "parser_crashed")
    assert (await polls.source(source_id)).losses == 1


async def test_c2_a_watched_source_that_is_not_suspected_costs_no_note(polls: Polls) -> None:
    source_id = await polls.stand.followed("blog")
    begun: list[Any] = []
    for watched in (True, False):
        async with noted_poll(polls.engine, await polls.source(source_id), watched=watched):
            begun += await polls.stand.rows("select poll_begun_at from source where id = :id", id=source_id)
    assert [row["poll_begun_at"] is None for row in begun] == [True, False]
    [after] = await polls.stand.rows("select poll_begun_at from source where id = :id", id=source_id)
    assert after["poll_begun_at"] is None


async def test_x2_a_fic_that_ends_the_worker_again_and_again_fails_in_the_end(harness: Harness) -> None:
    work = FicRef(site="ao3", kind=FicKind.WORK, id="12", url="https://archiveofourown.org/works/12")
    ours = activities_by_queue(harness.client, harness.dependencies, Metrics(MetricMeter.noop))[MAIN_QUEUE]
    record = next(activity for activity in ours if activity.__name__ == "record_fic_failure")
    error = ErrorRecord(error_type="Lost", error_code=WORKER_LOST, message="No worker.", retryable=True)
    async with transaction(harness.dependencies.engine) as connection:
        await fic_job.open_job(connection, work, NOW)
    seen = []
    for n in range(6):
        failure = FicFailureInput(key=work.key, round=1, error=error, now=NOW + timedelta(minutes=n))
        await ActivityEnvironment().run(record, failure)
        [job] = await harness.rows("select state, attempts, error_code from fic_job")
        seen.append((job["state"], job["attempts"], job["error_code"]))
    waiting = [("pending", 0, None)] * 3
    counted = [("pending", 1, WORKER_LOST), ("pending", 2, WORKER_LOST), ("error", 3, WORKER_LOST)]
    assert seen == waiting + counted
