"""ParseFicWorkflow with the real desk, workers and database, against the simulated archive."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.fic import FicView
from fascicle.domain.names import fic_workflow_id
from simulator.ao3.errors import challenge_page, maintenance_page
from simulator.ao3.records import Ao3SeriesSpec, WorkSpec
from simulator.client import NO_CERTIFICATES
from simulator.faults import Fault
from tests.fics import (
    ARCHIVE,
    desk,
    hold_next,
    reader,
    release,
    requests,
    told,
    until,
    until_held,
    until_over,
    work,
)
from tests.harness import Harness, eventually

DESTIEL = {"fandoms": ("Supernatural (TV 2005)",), "relationships": ("Castiel/Dean Winchester",)}
SHIPPED = Path(__file__).parents[3] / "ship_rules.yaml"


async def test_f1_two_who_ask_for_one_fic_cost_one_reading_and_are_told_once_each(stack: Harness) -> None:
    url = work(stack, title="The Almanac", chapters=12, chapters_total=None, rating="Mature")
    await reader(stack, "mara")
    await reader(stack, "jo")
    hold = hold_next(stack)
    first = await desk(stack).add(url, "mara", note="slow", tags=["bees", " bees "], wait_seconds=0)
    second = await desk(stack).add(f"{url}/chapters/7?view_adult=true", "jo", wait_seconds=0)
    assert first.key == second.key
    assert second.subscribers == 2
    await release(stack, hold)
    view = await until_over(stack, first)
    assert (view.state, view.title) == ("done", "The Almanac")
    assert view.fic is not None
    assert (view.fic.chapters, view.fic.chapters_total) == (12, None)
    # The redirect to the first chapter is a request of its own, and nothing is asked for twice.
    assert len(requests(stack)) == 2
    assert [len(told(stack, name)) for name in ("mara", "jo")] == [1, 1]
    note = await stack.rows("select note, tags from fic_subscriber where note is not null")
    assert note == [{"note": "slow", "tags": ["bees"]}]


async def test_f4_who_waited_for_the_answer_is_not_told_again(stack: Harness) -> None:
    url = work(stack, title="Brief")
    await reader(stack, "mara")
    at_once = await desk(stack).add(url, "mara", wait_seconds=60)
    assert at_once.state == "done"
    await until_over(stack, at_once)
    # Somebody who comes later has the result without another reading.
    later = await desk(stack).add(url, "jo", wait_seconds=60)
    assert later.title == "Brief"
    assert told(stack, "mara") == []
    assert len(requests(stack)) == 1
    assert await stack.value("select count(*) from delivery where state <> 'discarded'") == 0


async def test_f9_every_refusal_has_its_own_code(stack: Harness) -> None:
    works = {
        "login_required": work(stack, restricted=True),
        "unrevealed": work(stack, unrevealed=True),
        "not_found": work(stack, deleted=True),
        "parser_broken": work(stack, broken=True),
        "bad_redirect": work(stack, redirect_to="https://elsewhere.example/works/1"),
        "too_large": work(stack, padding=21_000_000),
    }
    views = await asyncio.gather(*(desk(stack).add(url, "mara", wait_seconds=60) for url in works.values()))
    assert [view.error_code for view in views] == list(works)
    assert {view.state for view in views} == {"error"}


async def test_f9_what_passes_is_tried_again_and_what_the_archive_says_is_obeyed(stack: Harness) -> None:
    faults = stack.simulator.simulation.faults
    faults.add(Fault(status=525, path="/ao3", count=1))
    faults.add(Fault(status=429, path="/ao3", count=1, retry_after=4))
    faults.add(Fault(status=445, path="/ao3", count=1))
    url = work(stack, title="Patience")
    view = await desk(stack).add(url, "mara", wait_seconds=0)
    cooling = await eventually(lambda: _cools(stack, url), what="the archive's word to be kept")
    assert cooling is not None
    assert cooling.eta_seconds is not None
    assert 0 < cooling.eta_seconds <= 5
    done = await until_over(stack, view)
    assert (done.state, done.error_code) == ("done", None)
    log = stack.simulator.simulation.requests.matching("/ao3/")
    assert [entry.status for entry in log] == [525, 429, 445, 200]
    assert log[2].monotonic - log[1].monotonic >= 4


async def _cools(stack: Harness, url: str) -> FicView | None:
    view = await desk(stack).show(url)
    return view if (view.state, view.error_code) == ("cooldown", "rate_limited") else None


async def _has_code(stack: Harness, url: str, code: str) -> bool:
    return (await desk(stack).show(url)).error_code == code


async def test_f9_a_page_that_cannot_be_read_leaves_what_was_read(stack: Harness) -> None:
    url = work(stack, title="Kept", words=4321)
    assert (await desk(stack).add(url, "mara", wait_seconds=60)).state == "done"
    stack.simulator.ao3.update_work(int(url.rpartition("/")[2]), WorkSpec(broken=True))
    broken = await desk(stack).update(url, "mara", wait_seconds=60)
    assert (broken.state, broken.error_code) == ("error", "parser_broken")
    assert await stack.rows("select title, words from fic") == [{"title": "Kept", "words": 4321}]


@pytest.mark.parametrize("overrides", [{"ship_rules": SHIPPED}])
async def test_f6_a_refused_fic_is_taken_when_a_moderator_says_so_without_reading_it_again(
    stack: Harness, overrides: dict[str, Any]
) -> None:
    await reader(stack, "mara")
    url = work(stack, title="Other", fandoms=("Supernatural (TV 2005)",), relationships=("Sam/Eileen",))
    refused = await desk(stack).add(url, "mara", wait_seconds=0)
    refused = await until_over(stack, refused)
    assert refused.state == "nOTP"
    assert refused.reasons
    taken = await desk(stack).override(url, "the-mod", "it is good")
    assert (taken.state, taken.override_by, taken.reasons) == ("done", "the-mod", [])
    await until_over(stack, taken)
    assert len(requests(stack)) == 1
    assert len(told(stack, "mara")) == 2
    # Remembered: also when it is read again.
    assert (await desk(stack).update(url, "jo", wait_seconds=60)).state == "done"
    fits = work(stack, **DESTIEL)
    assert (await desk(stack).add(fits, "jo", wait_seconds=60)).state == "done"


async def test_f7_a_series_is_read_page_by_page_and_reports_on_every_work(stack: Harness) -> None:
    archive = stack.simulator.ao3
    works = [archive.add_work(WorkSpec(title=f"Part {n}", restricted=n == 5)) for n in range(1, 24)]
    archive.update_work(works[2].id, WorkSpec(broken_blurb=True))
    series = archive.add_series(Ao3SeriesSpec(title="Long", works=tuple(w.id for w in works)))
    view = await desk(stack).add(f"{ARCHIVE}/series/{series.id}?page=2", "mara", wait_seconds=60)
    assert (view.state, view.title, view.hidden_works) == ("series-done", "Long", 1)
    assert len(requests(stack)) == 2
    states = [str(result.state) for result in view.works]
    assert (states.count("error"), states.count("done")) == (1, 21)
    assert [result.error_code for result in view.works if result.state == "error"] == ["parser_broken"]
    assert await stack.value("select count(*) from fic where kind = 'work'") == 21


@pytest.mark.parametrize(
    ("spec", "code"), [({"broken_blurb": True}, "parser_broken"), ({"unrevealed": True}, "unrevealed")]
)
async def test_f9_a_series_of_which_nothing_can_be_read_keeps_its_list(
    stack: Harness, spec: dict[str, Any], code: str
) -> None:
    archive = stack.simulator.ao3
    works = [archive.add_work(WorkSpec(title=f"Part {n}")) for n in (1, 2)]
    series = archive.add_series(Ao3SeriesSpec(title="Short", works=tuple(w.id for w in works)))
    url = f"{ARCHIVE}/series/{series.id}"
    assert (await desk(stack).add(url, "mara", wait_seconds=60)).state == "series-done"
    # One that cannot be read is its own trouble, and is known as it was.
    archive.update_work(works[0].id, WorkSpec(**spec))
    partly = await desk(stack).update(url, "mara", wait_seconds=60)
    assert (partly.state, [result.error_code for result in partly.works]) == ("series-done", [code, None])
    assert await stack.value("select count(*) from fic_series_work where work_key is not null") == 2
    archive.update_work(works[1].id, WorkSpec(**spec))
    broken = await desk(stack).update(url, "mara", wait_seconds=60)
    assert (broken.state, broken.error_code) == ("error", code)
    assert await stack.value("select count(*) from fic_series_work where work_key is not null") == 2


async def test_f8_a_job_cleared_while_it_runs_tells_nobody(stack: Harness) -> None:
    await reader(stack, "mara")
    url = work(stack, title="Gone")
    hold = hold_next(stack, "after")
    view = await desk(stack).add(url, "mara", wait_seconds=0)
    await until_held(stack)
    assert await desk(stack).clear(url)
    await release(stack, hold)
    await stack.client.get_workflow_handle(view.workflow_id).result()
    assert told(stack, "mara") == []
    assert not await desk(stack).clear(url)
    with pytest.raises(UsageError, match="Nobody has asked"):
        await desk(stack).show(url)


async def test_f8_reset_takes_up_the_stuck_and_leaves_the_rest_alone(stack: Harness) -> None:
    hold = hold_next(stack)
    first, second = work(stack, title="First"), work(stack, title="Second")
    running = await desk(stack).add(first, "mara", wait_seconds=0)
    waiting = await desk(stack).add(second, "mara", wait_seconds=0)
    await until_held(stack)
    await eventually(lambda: _waits(stack, second), what="the second to know its place")
    before = await desk(stack).queue()
    assert [(view.url, view.position) for view in before] == [(first, 1), (second, 2)]
    assert before[1].waiting_for == "its turn at AO3"
    await stack.client.get_workflow_handle(waiting.workflow_id).terminate()
    assert await desk(stack).reset() == 1
    assert await desk(stack).reset() == 0
    await release(stack, hold)
    assert (await until_over(stack, running)).state == "done"
    assert (await until_over(stack, waiting)).state == "done"
    assert len(requests(stack)) == 2


async def _waits(stack: Harness, url: str) -> str | None:
    return (await desk(stack).show(url)).waiting_for


async def test_f8_what_failed_is_tried_again_for_all_who_waited(stack: Harness) -> None:
    await reader(stack, "mara")
    url = work(stack, title="Late", deleted=True)
    failed = await until_over(stack, await desk(stack).add(url, "mara", wait_seconds=0))
    assert failed.error_code == "not_found"
    stack.simulator.ao3.update_work(int(url.rpartition("/")[2]), WorkSpec(deleted=False, title="Late"))
    # Somebody else asks: whoever waited in vain hears of it, too.
    assert (await until_over(stack, await desk(stack).add(url, "jo", wait_seconds=0))).state == "done"
    assert len(told(stack, "mara")) == 2
    stack.simulator.ao3.update_work(int(url.rpartition("/")[2]), WorkSpec(deleted=True))
    assert (await desk(stack).update(url, "mara", wait_seconds=60)).error_code == "not_found"
    assert await desk(stack).reset(url) == 1


async def test_f8_a_saved_page_is_read_without_asking_its_site(stack: Harness) -> None:
    url = work(stack, title="Saved")
    async with httpx.AsyncClient(verify=NO_CERTIFICATES) as browser:
        page = await browser.get(f"{stack.simulator.site_url('ao3')}/works/{url.rpartition('/')[2]}")
    stack.simulator.simulation.requests.clear()
    view = await desk(stack).add(url, "mara", page=page.content, wait_seconds=60)
    assert (view.state, view.title) == ("done", "Saved")
    assert requests(stack) == []


async def test_f1_other_sites_are_read_by_fanficfare_from_pages_that_we_fetch(stack: Harness) -> None:
    view = await desk(stack).add("https://www.royalroad.com/fiction/71001/any", "mara", wait_seconds=60)
    assert (view.state, view.site) == ("done", "royalroad")
    assert view.fic is not None
    assert view.fic.authors


async def test_f5_fifty_who_ask_at_once_cost_one_reading_and_are_told_once_each(stack: Harness) -> None:
    url = work(stack, title="Popular")
    names = [f"reader-{number}" for number in range(50)]
    for name in names:
        await reader(stack, name)
    hold = hold_next(stack)
    views: list[FicView] = await asyncio.gather(
        *(desk(stack).add(url, name, wait_seconds=0) for name in names)
    )
    await release(stack, hold)
    await until_over(stack, views[0])
    assert len(requests(stack)) == 1
    assert [len(told(stack, name)) for name in names] == [1] * 50


@pytest.mark.parametrize("overrides", [{"fic_tell_start": True}])
async def test_f5_the_communitys_channel_and_the_start_are_told_if_wanted(
    stack: Harness, overrides: dict[str, Any]
) -> None:
    await desk(stack).set_channel(stack.simulator.url.replace("http://", "json://") + "/sink/community")
    url = work(stack, title="Announced")
    await until_over(stack, await desk(stack).add(url, "mara", wait_seconds=0))
    assert told(stack, "community") == [f"Being read: {url}", "Read: Announced"]
    await desk(stack).set_channel(None)
    await until_over(stack, await desk(stack).update(url, "mara", wait_seconds=0))
    assert len(told(stack, "community")) == 2


async def test_f1_the_workflow_is_named_after_the_fic(stack: Harness) -> None:
    url = work(stack)
    view = await desk(stack).add(url.replace("https", "http") + "/", "mara", wait_seconds=60)
    assert view.workflow_id == fic_workflow_id(view.key) == f"fic-ao3-work-{url.rpartition('/')[2]}"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault(path="/ao3", status=403), "blocked"),
        (Fault(path="/ao3", status=403, body=challenge_page()), "challenge"),
        (Fault(path="/ao3", status=503, body=maintenance_page(), retry_after=3600), "transient"),
    ],
    ids=["blocked", "challenge", "maintenance"],
)
async def test_f3_what_the_archive_says_to_everyone_keeps_everyone_away(
    stack: Harness, fault: Fault, code: str
) -> None:
    stack.simulator.faults.add(fault)
    first, second = work(stack), work(stack)
    await desk(stack).add(first, "mara", wait_seconds=0)
    await eventually(lambda: _has_code(stack, first, code), what="the archive's word to be kept")
    await desk(stack).add(second, "mara", wait_seconds=0)
    for url in (first, second):
        view = await until(stack, url, "cooldown")
        assert view.eta_seconds is not None
        assert view.eta_seconds > 600
    assert len(requests(stack)) == 1


async def test_f9_other_sites_that_want_a_browser_say_so_at_once(stack: Harness) -> None:
    stack.simulator.faults.add(Fault(path="/royalroad", status=403, body=challenge_page()))
    view = await desk(stack).add("https://www.royalroad.com/fiction/71002", "mara", wait_seconds=60)
    assert (view.state, view.error_code) == ("error", "challenge")
    assert "--page" in str(view.error)
