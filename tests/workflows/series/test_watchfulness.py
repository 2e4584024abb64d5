"""Nothing is left to a timer that is a month away (X1, C12, C16)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fascicle.domain.errors import MustWait, RetryableError
from fascicle.domain.names import MAIN_QUEUE, new_id
from fascicle.domain.series.breaker import Circuit
from fascicle.domain.series.cadence import Cadence
from fascicle.domain.series.chapter import LatestPage
from fascicle.domain.series.source_facts import SourceFacts
from fascicle.jobs.operations import ReplayLettersInput
from fascicle.jobs.series import SourceInput, SourceState
from fascicle.sites.mangadex import MangaDex
from fascicle.storage.notifications import notification as notifications
from tests.harness import Harness, eventually
from tests.workflows.notifications.test_wishes import wish
from tests.workflows.series.test_sweep import relying_on_the_sweep, sweep_status


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"sweep": True, "sweep_seconds": 0.2, "sweep_overlap_seconds": 60}


async def run(stack: Harness, workflow: str, *job: Any) -> dict[str, Any]:
    handle = await stack.client.start_workflow(
        workflow, args=job, id=f"{workflow}-{new_id()}", task_queue=MAIN_QUEUE
    )
    result: dict[str, Any] = await handle.result()
    return result


async def test_c12_news_do_not_put_the_complete_listing_off(stack: Harness) -> None:
    series = stack.series(chapters=2)
    source = await relying_on_the_sweep(stack, series)
    await stack.execute("update source set complete_listing_at = now() - interval '60 days'")
    stack.release(series)
    await eventually(lambda: stack.value("select 1 from chapter_source having count(*) = 3"))
    # It is overdue: so the source's own time holds, which is hours away, not a month.
    due = await stack.source_value(source["id"], "next_check_at")
    assert due < datetime.now(UTC) + timedelta(hours=5)


@pytest.mark.parametrize("found_by", ["look", "listing"])
async def test_c16_a_source_that_the_sweep_missed_something_of_keeps_its_own_time(
    stack: Harness, monkeypatch: pytest.MonkeyPatch, found_by: str
) -> None:
    series = stack.series()
    source = await relying_on_the_sweep(stack, series)

    async def blind(site: MangaDex, languages: Sequence[str], cursor: str | None) -> LatestPage:
        return replace(await real(site, languages, cursor), entries=[], next_cursor=None)

    real = MangaDex.latest
    monkeypatch.setattr(MangaDex, "latest", blind)
    await eventually(lambda: _sweeps_blindly(stack), what="a sweep that sees nothing")
    stack.release(series, created_at=datetime.now(UTC) - timedelta(hours=1))
    if found_by == "listing":
        await stack.execute("update source set complete_listing_at = now() - interval '4 days'")
    await stack.poll(source)
    await eventually(lambda: stack.value("select 1 from chapter_source having count(*) = 4"))
    assert await stack.source_value(source["id"], "sweep_missed_at") is not None
    assert "the sweep watches" not in (await stack.status(source))["next_poll_reason"]


async def _sweeps_blindly(stack: Harness) -> bool:
    return "0 entries" in (await sweep_status(stack))["last_outcome"]


async def test_c16_a_sweep_that_must_wait_goes_on_where_it_was(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await relying_on_the_sweep(stack, stack.series(chapters=2))
    real, asked = MangaDex.latest, []

    async def latest(site: MangaDex, languages: Sequence[str], cursor: str | None) -> LatestPage:
        """Two pages, and after each of them it is somebody else's turn at the gate."""
        asked.append(cursor)
        if len(asked) % 2 == 0:
            raise MustWait("gate_wait", "others first", seconds=0.05, refused=False)
        page = await real(site, languages, None)
        return replace(page, next_cursor="second" if cursor is None else None)

    monkeypatch.setattr(MangaDex, "latest", latest)
    old = """jsonb_set(cursor, '{at}', '"2020-01-01T00:00:00Z"') - 'seen'"""

    async def reads_both_pages() -> bool:
        # Again and again: a sweep that was under way may still note its own cursor.
        if "second" not in asked:
            await stack.execute(f"update sweep set cursor = {old}, last_success_at = null")
            await asyncio.sleep(0.5)
        return "second" in asked

    await eventually(reads_both_pages, what="the second page")
    await eventually(lambda: stack.value("select last_success_at from sweep"), what="a finished sweep")


async def test_c16_a_sweep_that_is_cancelled_sends_its_sources_back(stack: Harness) -> None:
    source = await relying_on_the_sweep(stack, stack.series())
    await stack.client.get_workflow_handle("sweep-mangadex").cancel()

    async def is_back() -> bool:
        due = datetime.fromisoformat((await stack.status(source))["next_poll_at"])
        return due < datetime.now(UTC) + timedelta(hours=5)

    await eventually(is_back, what="a look of its own")


async def test_c16_a_sweep_that_was_terminated_is_noticed_and_started_again(stack: Harness) -> None:
    await relying_on_the_sweep(stack, stack.series())
    await stack.client.get_workflow_handle("sweep-mangadex").terminate("by mistake")

    async def noticed() -> bool:
        # Again and again: the sweep under way when it was terminated may still note its success.
        await stack.execute("update sweep set last_success_at = now() - interval '1 hour'")
        return bool((await run(stack, "ReconcileWorkflow"))["stale_sweeps"] == ["mangadex"])

    await eventually(noticed, what="the stale sweep")

    async def sweeps_again() -> bool:
        return bool((await sweep_status(stack))["rounds"] > 1)

    await eventually(sweeps_again, what="a new sweep")


async def test_x1_what_could_not_be_told_is_told_when_the_database_is_back(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = stack.series()
    source = await relying_on_the_sweep(stack, series)
    await stack.follow("ann", source["series_id"])

    async def is_down(*_: Any, **__: Any) -> None:
        raise RetryableError("database_down", "The database is away.")

    with monkeypatch.context() as outage:
        outage.setattr(notifications, "fan_out", is_down)
        stack.release(series)
        await eventually(lambda: stack.value("select 1 from dead_letter where kind = 'notify'"))
    assert (await run(stack, "ReconcileWorkflow"))["chapters"] == [], "not yet"
    await stack.execute("update logical_chapter set owed_at = owed_at - interval '1 hour'")
    assert len((await run(stack, "ReconcileWorkflow"))["chapters"]) == 1
    await stack.messages(1)
    await stack.all_quiet()
    assert await stack.value("select state from dead_letter where kind = 'notify'") == "resolved"


@pytest.mark.parametrize("by_listing", [False, True])
@pytest.mark.parametrize("overrides", [{}])
async def test_c8_a_translation_is_told_whichever_way_it_is_found(stack: Harness, by_listing: bool) -> None:
    series = stack.series(chapters=3)
    long_ago = datetime.now(UTC) - timedelta(days=14)
    stack.release(series, chapter="4", language="en", created_at=long_ago)
    source = await stack.add_and_sync(series, languages=["en", "fr"])
    await stack.follow("fleur", source["series_id"])
    await wish(stack, "fleur", languages=["fr"])
    if by_listing:
        await stack.execute("update source set complete_listing_at = now() - interval '4 days'")
    stack.release(series, chapter="4", language="fr")
    await stack.poll(source)
    await stack.all_quiet()
    assert len(stack.simulator.sink.messages("fleur")) == 1


@pytest.mark.parametrize("overrides", [{}])
async def test_c15_a_replay_that_is_refused_again_and_again_gives_up(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = stack.series(chapters=2)
    source = await stack.add_and_sync(series)

    async def refuses(*_: Any) -> None:
        raise MustWait("rate_limited", "429", seconds=0.01, refused=True)

    monkeypatch.setattr(MangaDex, "everything", refuses)
    await stack.workflow(source).signal("replay", "2")

    async def gave_up() -> bool:
        return "replay of 2 failed" in (await stack.status(source))["last_outcome"]

    await eventually(gave_up, what="an end to it")
    stack.release(series)
    await stack.poll(source)
    await eventually(lambda: stack.value("select 1 from chapter_source having count(*) = 3"))


@pytest.mark.parametrize("overrides", [{}])
async def test_c11_a_letter_that_cannot_be_read_does_not_hold_up_the_others(stack: Harness) -> None:
    source = await stack.add_and_sync(stack.series(chapters=2))
    await stack.execute(
        """insert into dead_letter (kind, job_key, workflow_id, input, error, error_code, retryable, attempts,
             first_failed_at, last_failed_at)
           select kind, kind, 'w', cast(input as jsonb), '{}', 'old', false, 1, now(), now()
           from (values (1, 'ingest', '{"source_id": "x"}'), (2, 'poll', '{"source_id": "gone"}'),
                        (3, 'poll ', :good)) as t (n, kind, input) order by n""",
        good=f'{{"source_id": "{source["id"]}"}}',
    )
    await stack.execute("update dead_letter set kind = 'poll' where kind = 'poll '")
    result = await run(stack, "ReplayLettersWorkflow", ReplayLettersInput(code="old"))
    assert [len(result["replayed"]), len(result["failed"])] == [1, 2]
    states = await stack.rows("select state from dead_letter order by id")
    assert [row["state"] for row in states] == ["open", "open", "replayed"]


@pytest.mark.parametrize("overrides", [{}])
async def test_c7_a_long_announcement_goes_on_in_the_next_run_and_then_it_rests(stack: Harness) -> None:
    """As after a continue-as-new: the chapters up to some number are being told already."""
    source = await stack.add_and_sync(stack.series(chapters=5))
    await stack.follow("ann", source["series_id"])
    await stack.workflow(source).terminate("to be started in the middle")
    await stack.execute("update logical_chapter set announce = 'owed', owed_at = now()")
    second = await stack.value("select id from logical_chapter where chapter_key = '2'")
    now = datetime.now(UTC)
    facts = SourceFacts(
        site="mangadex",
        series_id=source["series_id"],
        title="Lanterns",
        cadence=Cadence.HOT,
        circuit=Circuit.CLOSED,
        next_check_at=now,
    )
    given = SourceInput(
        source_id=source["id"],
        site="mangadex",
        series_id=source["series_id"],
        title="Lanterns",
        state=SourceState(facts=facts, due_at=now, owed_after=second),
    )
    await stack.client.start_workflow(
        "SourceWorkflow", given, id=f"source-{source['id']}", task_queue=MAIN_QUEUE
    )
    await stack.messages(3)
    await eventually(lambda: _rests(stack, source), what="rest")
    assert (await stack.status(source))["polls"] == 1
    assert await stack.value("select count(*) from logical_chapter where announce = 'owed'") == 2


async def _rests(stack: Harness, source: dict[str, Any]) -> bool:
    return "next look" in (await stack.status(source))["waiting_for"]
