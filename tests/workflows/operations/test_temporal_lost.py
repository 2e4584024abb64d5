"""The drill: Temporal is lost with everything in it; the database alone brings every workflow back (X1)."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from temporalio.client import Client

from fascicle.services.operations.missing_workflows import rebuild
from fascicle.services.operations.schedules import ensure_schedules
from tests import fics, items, publishing, requests
from tests.feeds import feed, inbox, publish, read
from tests.harness import Harness, eventually
from tests.starter.services import new_namespace


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"drain_seconds": 0.1, "enrich": True, **publishing.FAST}


@dataclass(frozen=True)
class UnderWay:
    """One of each, none of it done."""

    source: str
    post: str
    fic: str
    request: str
    item: int


async def _begin_everything(harness: Harness) -> UnderWay:
    page = requests.article(harness)
    series = harness.series(chapters=3)
    async with harness.workers():
        source = await harness.add_and_sync(series)
        account = await publishing.connect_account(harness, "Cleo")
        blog = await read(harness, "ann", feed(harness, "blog"))
        await eventually(lambda: harness.source_value(blog.source_id, "last_success_at"))
        fic = fics.work(harness, title="Tides")
        fics.hold_next(harness)
        await fics.reader(harness, "bea")
        await fics.desk(harness).add(fic, "bea", wait_seconds=0)
        await fics.until_held(harness)
    await _find_a_chapter_and_lose_it(harness, source, series)
    publish(harness, "blog", "after the loss")
    post = await publishing.scheduled(harness, account, "Ink")
    asked = await requests.ask(harness, page)
    return UnderWay(source["id"], post, fic, asked.view.id, await items.due_item(harness, page))


async def _find_a_chapter_and_lose_it(harness: Harness, source: dict[str, Any], series: Any) -> None:
    """A poll found it and started its workflow, which is lost; the next poll of its own is weeks away."""
    await harness.follow("ann", source["series_id"])
    harness.release(series)
    await harness.execute(
        """update source set last_success_at = now() + interval '1 day', complete_listing_at = null,
             next_check_at = now() + interval '30 days' where id = :id""",
        id=source["id"],
    )


async def test_x1_the_database_alone_rebuilds_every_workflow(harness: Harness) -> None:
    begun = await _begin_everything(harness)
    harness.simulator.faults.clear()
    empty: Client = await new_namespace(harness.client.service_client.config.target_host)
    lost = replace(harness, client=empty)

    wanted = {"sources": 2, "chapters": 0, "posts": 1, "fics": 1, "requests": 1, "items": 1}
    assert await rebuild(lost.dependencies, empty, dry_run=True) == wanted
    await ensure_schedules(empty, lost.dependencies.settings)
    assert await rebuild(lost.dependencies, empty) == wanted

    async def all_there() -> bool:
        return not sum((await rebuild(lost.dependencies, empty, dry_run=True)).values())

    await eventually(all_there, what="every workflow in the list")
    async with lost.workers():
        await _all_of_it_ends(lost, begun)


async def _all_of_it_ends(lost: Harness, begun: UnderWay) -> None:
    async def ann_was_told() -> bool:
        return bool(lost.simulator.sink.messages("ann"))

    async def blog_was_read() -> bool:
        return "after the loss" in await inbox(lost, "ann")

    async def enriched() -> bool:
        return bool((await items.item_row(lost, begun.item))["enrich"] == "done")

    await eventually(ann_was_told, what="the lost chapter's message")
    assert await publishing.until_over(lost, begun.post) == "published"
    assert (await requests.until_over(lost, begun.request)).status == "succeeded"
    await fics.until_over(lost, await fics.desk(lost).show(begun.fic))
    await eventually(blog_was_read, what="the feed's next entry")
    await eventually(enriched, what="the item's page")
    await lost.all_quiet()
    told = [message.title for message in lost.simulator.sink.messages("ann")]
    assert told == ["Lanterns: Chapter 4"]
    assert len(fics.told(lost, "bea")) == 1
    assert publishing.published_titles(lost) == ["Ink"]
