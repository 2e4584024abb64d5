"""ParseFicWorkflow where two things happen at once, or one happens again."""

import asyncio
from typing import Any

import httpx
import pytest

from fascicle.domain.fics.fic import FicRef
from fascicle.jobs.fics import parse_fic_job
from fascicle.sites.ao3 import series as series_reader
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic as fics
from fascicle.storage.fics import fic_job as jobs
from fascicle.temporal.workflow_start import start_job
from simulator.ao3.records import Ao3SeriesSpec, WorkSpec
from simulator.client import NO_CERTIFICATES
from tests.fics import (
    ARCHIVE,
    desk,
    hold_next,
    reader,
    release,
    requests,
    told,
    until_held,
    until_over,
    work,
)
from tests.harness import Harness, eventually
from tests.workflows.fics.test_fic import SHIPPED

ROYALROAD = "https://www.royalroad.com/fiction/71001"


async def test_f5_who_asks_again_for_a_fic_that_was_cleared_is_told_again(stack: Harness) -> None:
    await reader(stack, "mara")
    await desk(stack).set_channel(stack.simulator.url.replace("http://", "json://") + "/sink/community")
    url = work(stack, title="Twice")
    for times in (1, 2):
        await until_over(stack, await desk(stack).add(url, "mara", wait_seconds=0))
        assert [len(told(stack, name)) for name in ("mara", "community")] == [times, times]
        assert await desk(stack).clear(url)


@pytest.mark.parametrize("overrides", [{"ship_rules": SHIPPED}])
async def test_f6_an_override_that_comes_while_the_fic_is_judged_holds(
    stack: Harness, overrides: dict[str, Any]
) -> None:
    url = work(stack, title="Other", fandoms=("Supernatural (TV 2005)",), relationships=("Sam/Eileen",))
    hold = hold_next(stack, "after")
    view = await desk(stack).add(url, "mara", wait_seconds=0)
    await until_held(stack)
    async with transaction(stack.dependencies.engine) as connection:
        await jobs.find(connection, view.key, lock=True)
        await fics.remember_override(connection, view.key, "the-mod", None)
        stack.simulator.faults.release(hold)
        waiting = """select count(*) from pg_stat_activity
                     where wait_event_type = 'Lock' and datname = current_database()"""
        await eventually(lambda: stack.value(waiting), what="the end of the job to wait for its row")
    assert (await until_over(stack, view)).state == "done"


async def test_x1_a_message_whose_sender_was_never_heard_of_again_is_settled(stack: Harness) -> None:
    await reader(stack, "mara")
    view = await until_over(stack, await desk(stack).add(work(stack), "mara", wait_seconds=0))
    await stack.execute("update delivery set state = 'sending'")
    await start_job(
        stack.client,
        parse_fic_job(FicRef(site="ao3", kind=view.kind, id=view.key.rpartition("-")[2], url=view.url)),
    )
    await until_over(stack, view)
    assert await stack.rows("select state from delivery") == [{"state": "unconfirmed"}]
    assert len(told(stack, "mara")) == 1


async def test_f8_of_a_job_cleared_while_its_page_is_fetched_no_page_stays(stack: Harness) -> None:
    hold = hold_next(stack, "after", "/royalroad")
    view = await desk(stack).add(ROYALROAD, "mara", wait_seconds=0)
    await until_held(stack)
    assert await desk(stack).clear(ROYALROAD)
    stack.simulator.faults.release(hold)
    await stack.client.get_workflow_handle(view.workflow_id).result()
    assert await stack.value("select count(*) from fic_page") == 0


async def test_f7_a_page_number_that_is_misread_is_not_asked_for_for_ever(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = stack.simulator.ao3
    works = [archive.add_work(WorkSpec(title=f"Part {n}")) for n in range(1, 24)]
    series = archive.add_series(Ao3SeriesSpec(title="Long", works=tuple(w.id for w in works)))
    monkeypatch.setattr(series_reader, "_paging", lambda main: (1, 2))
    view = await desk(stack).add(f"{ARCHIVE}/series/{series.id}", "mara", wait_seconds=60)
    assert (view.state, len(view.works)) == ("series-done", 23)
    assert len(requests(stack)) == 2


async def test_f1_the_workflows_answer_leaves_out_what_was_read(stack: Harness) -> None:
    """Hundreds of answers may leave in one go: those of a long series would be more than Temporal takes."""
    url = work(stack, title="Brief", summary="<p>Long.</p>")
    view = await desk(stack).add(url, "mara", wait_seconds=60)
    assert view.fic is not None
    again = await asyncio.gather(*(desk(stack).add(url, f"r{n}", wait_seconds=0) for n in range(12)))
    assert {v.fic.title if v.fic else None for v in again} == {"Brief"}
    history = await stack.client.get_workflow_handle(view.workflow_id).fetch_history()
    answers = [
        event.workflow_execution_update_completed_event_attributes.outcome.success.payloads[0].data
        for event in history.events
        if event.HasField("workflow_execution_update_completed_event_attributes")
    ]
    assert answers
    assert not any(b"Long." in answer for answer in answers)


async def _page(stack: Harness, path: str) -> bytes:
    async with httpx.AsyncClient(verify=NO_CERTIFICATES) as browser:
        found = (await browser.get(f"{stack.simulator.site_url('ao3')}{path}")).content
    stack.simulator.simulation.requests.clear()
    return found


async def test_f7_a_page_of_a_series_that_is_handed_in_does_not_pass_for_all_of_it(stack: Harness) -> None:
    archive = stack.simulator.ao3
    works = [archive.add_work(WorkSpec(title=f"Part {n}")) for n in range(1, 24)]
    series = archive.add_series(Ao3SeriesSpec(title="Long", works=tuple(w.id for w in works)))
    url = f"{ARCHIVE}/series/{series.id}"
    first, second = [await _page(stack, f"/series/{series.id}?page={number}") for number in (1, 2)]
    view = await desk(stack).add(url, "mara", page=first, wait_seconds=60)
    assert (view.state, len(view.works), view.hidden_works) == ("series-done", 23, 0)
    assert len(requests(stack)) == 1
    view = await desk(stack).add(url, "mara", page=second, wait_seconds=60)
    assert (view.state, view.error_code) == ("error", "page_missing")
    assert await stack.value("select count(*) from fic_series_work") == 23


async def test_x7_a_page_handed_in_while_the_site_refuses_is_read(stack: Harness) -> None:
    url = work(stack, title="Saved")
    number = int(url.rpartition("/")[2])
    page = await _page(stack, f"/works/{number}")
    stack.simulator.ao3.update_work(number, WorkSpec(deleted=True))
    hold = hold_next(stack, "after")
    await desk(stack).add(url, "mara", wait_seconds=0)
    await until_held(stack)
    given = asyncio.create_task(desk(stack).add(url, "jo", page=page, wait_seconds=60))
    await eventually(lambda: stack.value("select count(*) from fic_page"), what="the page to be handed in")
    stack.simulator.faults.release(hold)
    assert (await given).title == "Saved"
    assert (await desk(stack).show(url)).state == "done"


async def test_x6_a_long_wait_continues_as_new_and_forgets_nobody(stack: Harness) -> None:
    hold = hold_next(stack)
    await desk(stack).add(work(stack, title="First"), "mara", wait_seconds=0)
    await until_held(stack)
    url = work(stack, title="Second")
    waiting = await desk(stack).add(url, "mara", wait_seconds=0)
    handle = stack.client.get_workflow_handle(waiting.workflow_id)
    first_run = (await handle.describe()).run_id

    async def another_run() -> bool:
        await asyncio.gather(*(handle.signal("look_again") for _ in range(40)))
        return (await handle.describe()).run_id != first_run

    await eventually(another_run, what="another run")
    assert (await desk(stack).add(url, "jo", wait_seconds=0)).subscribers == 2
    await release(stack, hold)
    assert (await until_over(stack, waiting)).state == "done"
    assert len(requests(stack)) == 2
