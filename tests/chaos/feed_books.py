"""What came of an experiment with feeds: items, who has them, how their pages were asked for."""

from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.harness import Harness

Holding = tuple[str, str]
"""A reader and the path of a page."""

_INBOXES = """
select app_user.name, item.url from inbox_item
join item on item.id = item_id join app_user on app_user.id = user_id"""


@dataclass(frozen=True)
class FeedBooks:
    inboxes: Counter[Holding]
    items: Counter[str]
    """By the path of their page."""
    enriched: dict[str, str]
    looks: Counter[str]
    """How often each page was asked for."""
    letters: int


async def read_feed_books(harness: Harness) -> FeedBooks:
    items = await harness.rows("select url, enrich from item")
    asked = [request.path for request in harness.simulator.requests.matching("/feeds/")]
    return FeedBooks(
        inboxes=Counter((row["name"], _path(row["url"])) for row in await harness.rows(_INBOXES)),
        items=Counter(_path(item["url"]) for item in items),
        enriched={_path(item["url"]): item["enrich"] for item in items},
        looks=Counter(path for path in asked if path.rpartition("/")[2].isdecimal()),
        letters=await harness.value("select count(*) from dead_letter"),
    )


def _path(url: str) -> str:
    return urlsplit(url).path
