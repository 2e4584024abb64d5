"""Lives of workflows worth keeping: each gives the ids of the workflows whose histories are recorded."""

from collections.abc import Awaitable, Callable

from fascicle.domain.names import notify_workflow_id
from simulator.faults import Fault
from tests.harness import Harness, eventually

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


SCENARIOS: list[Callable[[Harness], Awaitable[Histories]]] = [
    a_chapter_from_upstream_to_followers,
    a_person_steers_a_source,
    what_fails_for_good,
]
