"""Recorded feeds at two times: exactly what is new reaches the inbox (I4)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fascicle.services.feeds.incoming_items import FeedStore, Stored
from fascicle.sites.feeds.parse import parse_feed
from fascicle.storage.database import open_engine
from tests.newsstand import Newsstand

FEEDS = Path(__file__).parents[3] / "shared/fixtures/feeds"

# before, after, new, edited, known under other ids, in the flood's way
PAIRS = [
    pytest.param("pair_update_1_motherjones.xml", "pair_update_2_motherjones.xml", 3, 0, id="update"),
    pytest.param("pair_guidflood_1_google.xml", "pair_guidflood_2_google.xml", 0, 20, id="guid-flood"),
    pytest.param("pair_migration_1_tumblr.xml", "pair_migration_2_jekyll.xml", 0, 10, id="migration"),
]


@pytest.fixture
async def stand(database_url: str) -> AsyncIterator[Newsstand]:
    engine = open_engine(database_url)
    yield Newsstand(engine)
    await engine.dispose()


async def read(stand: Newsstand, source_id: str, name: str) -> Stored:
    path = FEEDS / name
    if not path.exists():
        pytest.skip(f"{name} is not among the recorded feeds here")
    parsed = parse_feed(path.read_bytes(), url="https://feed.example/feed")
    return await stand.read_document(source_id, parsed, FeedStore(enrich=False))


@pytest.mark.parametrize(("before", "after", "new", "renamed"), PAIRS)
async def test_i4_pairs(stand: Newsstand, before: str, after: str, new: int, renamed: int) -> None:
    source = await stand.feed("recorded", ["ann", "ben"])
    first = await read(stand, source, before)
    assert (first.new, first.silent) == (0, first.entries)
    second = await read(stand, source, after)
    assert (second.new, second.renamed, second.delivered) == (new, renamed, 2 * new)
    assert second.flood == bool(renamed)
    assert (await read(stand, source, after)).is_idle
    assert len(await stand.inbox("ann")) == new


async def test_i4_going_back_to_the_older_document_is_no_news(stand: Newsstand) -> None:
    source = await stand.feed("recorded")
    for name in ("pair_update_1_motherjones.xml", "pair_update_2_motherjones.xml"):
        await read(stand, source, name)
    assert (await read(stand, source, "pair_update_1_motherjones.xml")).new == 0
    assert len(await stand.inbox("ann")) == 3
