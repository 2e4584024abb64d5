"""Feeds of the simulator, and people who read them."""

from typing import Any

from fascicle.services.feeds.following import Subscribed, subscribe
from fascicle.storage.database import transaction
from fascicle.storage.series import library
from simulator.feeds.records import EntrySpec, FeedSpec
from tests.harness import Harness


def feed(stack: Harness, name: str = "blog", *, entries: int = 2, **spec: Any) -> str:
    """A feed with so many entries; its address."""
    stack.simulator.feeds.add_feed(FeedSpec(name=name, title=name.title(), **spec))
    publish(stack, name, *(f"{name} {number}" for number in range(entries)))
    return stack.simulator.feed_url(name)


def publish(stack: Harness, name: str, *titles: str, **spec: Any) -> None:
    stack.simulator.feeds.add_entries(name, [EntrySpec(title=title, **spec) for title in titles])


async def user(stack: Harness, name: str) -> str:
    async with transaction(stack.dependencies.engine) as connection:
        return (await library.add_user(connection, name))[0]


async def read(stack: Harness, name: str, url: str, **options: Any) -> Subscribed:
    """Somebody subscribes."""
    return await subscribe(stack.dependencies, stack.client, url, await user(stack, name), **options)


async def poll(stack: Harness, subscribed: Subscribed) -> None:
    await stack.poll({"id": subscribed.source_id})


async def inbox(stack: Harness, name: str) -> list[str]:
    rows = await stack.rows(
        """select item.title from inbox_item join item on item.id = item_id
           join app_user on app_user.id = user_id where app_user.name = :name
           order by arrived_at, published_at, item.id""",
        name=name,
    )
    return [row["title"] for row in rows]


async def runs(stack: Harness, source_id: str) -> list[dict[str, Any]]:
    """Oldest first."""
    return await stack.rows("select * from ingestion_run where source_id = :id order by id", id=source_id)


def requests(stack: Harness, name: str) -> int:
    """How often the feed itself was asked for."""
    return len([r for r in stack.simulator.requests.matching(f"/feeds/{name}") if r.path == f"/feeds/{name}"])
