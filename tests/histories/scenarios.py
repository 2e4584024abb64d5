"""Lives of workflows worth keeping: each gives the ids of the workflows whose histories are recorded."""

from collections.abc import Awaitable, Callable
from typing import Any

from fascicle.domain.names import MAIN_QUEUE, new_id, notify_workflow_id
from fascicle.jobs.operations import ReplayLettersInput
from fascicle.jobs.series import SweepWorkflowInput
from simulator.faults import Fault
from tests.accounts import connect_account
from tests.harness import Harness, eventually
from tests.histories.account_scenario import tokens_are_maintained
from tests.histories.automation_scenario import an_automation_fires
from tests.histories.cleanup_scenario import deleted_files_are_removed
from tests.histories.enrich_scenario import items_are_enriched
from tests.histories.feed_scenario import a_feed_is_followed
from tests.histories.fic_scenario import fics_for_several
from tests.histories.letters_scenario import letters_are_written_and_replayed
from tests.histories.publish_scenario import posts_on_their_way
from tests.histories.request_scenario import pages_become_summaries

FEED = "/mangadex/manga/*/feed"

Histories = dict[str, str]
"""File name → workflow id."""


async def a_chapter_from_upstream_to_followers(stack: Harness) -> Histories:
    """First sync, a wait for the site, an idle poll, a new chapter, a service that fails at first."""
    series = stack.series(chapters=3)
    stack.simulator.faults.add(Fault(path=FEED, status=429, retry_after=1, count=1))
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    await stack.follow("bob", source["series_id"])
    await stack.poll(source)
    stack.simulator.faults.add(Fault(path="/sink/bob", status=503, count=1))
    stack.release(series)
    await stack.poll(source)
    await stack.messages(2)
    await stack.all_quiet()
    await stack.execute("update source set removed_at = now()")
    await stack.workflow(source).signal("poll_now")
    await stack.workflow(source).result()
    chapter_id = await stack.value("select id from logical_chapter where chapter_key = '4'")
    return {
        "source_first_sync_and_new_chapter": f"source-{source['id']}",
        "ingest_new_chapter": f"ingest-{source['id']}-4",
        "notify_with_a_retry": notify_workflow_id(source["series_id"], chapter_id),
    }


async def a_person_steers_a_source(stack: Harness) -> Histories:
    """Pause, poll now, resume, pin, stop."""
    source = await stack.add_and_sync(stack.series(chapters=3))
    handle = stack.workflow(source)
    await handle.signal("pause", "holidays")
    await eventually(lambda: stack.source_value(source["id"], "paused_at"))
    await stack.poll(source)
    await handle.signal("resume")
    await handle.signal("set_priority", "COLD")
    await eventually(lambda: stack.source_value(source["id"], "pinned_cadence"))
    await handle.signal("stop")
    await handle.result()
    return {"source_steered": handle.id}


async def what_fails_for_good(stack: Harness) -> Histories:
    """A source whose site fails, a batch of news, a chapter that the database refuses."""
    series = stack.series(chapters=1)
    source = await stack.add_and_sync(series)
    stack.simulator.faults.add(Fault(path=FEED, status=500, count=3))
    await stack.poll(source)
    for _ in range(12):
        stack.release(series)
    await stack.poll(source)
    await stack.all_quiet()
    await stack.execute("alter table logical_chapter add constraint no_99 check (chapter_key <> '99')")
    stack.release(series, chapter="99")
    await stack.poll(source)
    await eventually(lambda: stack.value("select count(*) from dead_letter where kind = 'ingest'"))
    await stack.workflow(source).signal("stop")
    await stack.workflow(source).result()
    return {
        "source_failed_poll_and_batch": f"source-{source['id']}",
        "ingest_buried": f"ingest-{source['id']}-99",
    }


async def a_sweep_wakes_a_source(stack: Harness) -> Histories:
    """A round with news, one that fails, one told to wait, the end; and the source that was woken."""
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    sweep = await stack.client.start_workflow(
        "SweepWorkflow", SweepWorkflowInput(site="mangadex"), id=f"sweep-{new_id()}", task_queue=MAIN_QUEUE
    )
    await eventually(lambda: stack.value("select last_success_at from sweep"))
    stack.release(series)
    await sweep.signal("sweep_now")
    await eventually(lambda: stack.value("select 1 from logical_chapter where chapter_key = '4'"))
    stack.simulator.faults.add(Fault(path="/mangadex/chapter", status=500, count=3))
    await sweep.signal("sweep_now")
    await eventually(lambda: stack.value("select failures from sweep"))
    stack.simulator.faults.add(Fault(path="/mangadex/chapter", status=429, retry_after=1, count=1))
    await sweep.signal("sweep_now")
    await eventually(lambda: stack.value("select failures = 0 from sweep"))
    await sweep.signal("stop")
    await sweep.result()
    await stack.workflow(source).signal("replay", "2-3")
    await eventually(lambda: _replayed(stack, source))
    await stack.workflow(source).signal("stop")
    await stack.workflow(source).result()
    return {"sweep": sweep.id, "source_woken_and_replayed": f"source-{source['id']}"}


async def _replayed(stack: Harness, source: dict[str, Any]) -> bool:
    return "replayed 2 chapters" in (await stack.status(source))["last_outcome"]


async def what_schedules_and_people_start(stack: Harness) -> Histories:
    """A digest that fails at first, a day's housekeeping, a replay of a dead letter."""
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    await stack.execute("update app_user set mode = 'hourly'")
    stack.release(series)
    await stack.poll(source)
    await stack.all_quiet()
    await stack.execute("update notification set digest_at = now()")
    stack.simulator.faults.add(Fault(path="/sink/ann", status=503, count=1))
    digest = await _run(stack, "DigestWorkflow")
    stack.simulator.world.remove_series(series.id)
    await stack.poll(source)
    replay = await _run(stack, "ReplayLettersWorkflow", ReplayLettersInput(code="not_found"))
    housekeeping = await _run(stack, "HousekeepingWorkflow")
    await stack.execute("update logical_chapter set announce = 'owed', owed_at = now() - interval '1 hour'")
    await stack.execute("insert into sweep (site, last_success_at) values ('mangadex', '2020-01-01Z')")
    await stack.execute(
        """insert into mail (account_id, kind, dedup_key, subject, body)
           values (:account, 'test', 'k', 's', 'b')""",
        account=await connect_account(stack),
    )
    reconcile = await _run(stack, "ReconcileWorkflow")
    await stack.client.get_workflow_handle("sweep-mangadex").signal("stop")
    return {
        "digest": digest,
        "replay_letters": replay,
        "housekeeping": housekeeping,
        "reconcile": reconcile,
    }


async def _run(stack: Harness, workflow: str, *job: Any) -> str:
    handle = await stack.client.start_workflow(
        workflow, args=job, id=f"{workflow}-{new_id()}", task_queue=MAIN_QUEUE
    )
    await handle.result()
    return handle.id


SCENARIOS: list[Callable[[Harness], Awaitable[Histories]]] = [
    a_chapter_from_upstream_to_followers,
    a_person_steers_a_source,
    what_fails_for_good,
    letters_are_written_and_replayed,
    a_sweep_wakes_a_source,
    what_schedules_and_people_start,
    an_automation_fires,
    deleted_files_are_removed,
    posts_on_their_way,
    tokens_are_maintained,
    fics_for_several,
    items_are_enriched,
    a_feed_is_followed,
    pages_become_summaries,
]
