"""What is stored of an enrichment (I5): gaps are filled, once or twice alike; who is due comes in order."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.feeds.item_page import Enrichment, OEmbed, PageMetadata, StepError
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.feeds import enrichment

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
FOUND = Enrichment(
    title="Lanterns",
    author="Ann",
    site_name="The Blog",
    image_url="https://blog.test/1.jpg",
    duration_seconds=253,
    language="en",
    published_at=NOW,
    lead="How they <b>shine</b>.\nAt night.",
    lead_kind="page",
    words=460,
    reading_minutes=2,
    page=PageMetadata(url="https://blog.test/1", published_at=NOW),
    oembed=OEmbed(type="video"),
    errors=[StepError(step="text", code="crashed", message="?")],
)


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[AsyncConnection]:
    engine = open_engine(database_url)
    async with transaction(engine) as opened:
        yield opened
    await engine.dispose()


async def item(connection: AsyncConnection, *, due: datetime = NOW, **columns: Any) -> int:
    values = {"title": "Own", "enrich": "due", "enrich_due_at": due, **columns}
    names = ", ".join(values)
    item_id: int = await connection.scalar(
        text(f"""insert into item ({names}, first_seen_at, updated_at)
                 values ({", ".join(f":{name}" for name in values)}, now(), now()) returning id"""),
        values,
    )
    return item_id


async def row(connection: AsyncConnection, item_id: int) -> dict[str, Any]:
    rows = await connection.execute(text("select * from item where id = :id"), {"id": item_id})
    return dict(rows.mappings().one())


async def test_i5_gaps_are_filled_and_a_second_time_changes_nothing(connection: AsyncConnection) -> None:
    item_id = await item(connection, title="https://blog.test/1?utm=x")
    assert await enrichment.record(connection, item_id, FOUND, NOW)
    first = await row(connection, item_id)
    expected = FOUND.model_dump(exclude={"page", "oembed", "errors", "lead"})
    assert {name: first[name] for name in expected} == expected
    assert first["lead"] == "How they shine. At night."
    assert first["metadata"] == {
        "page": {"url": "https://blog.test/1", "published_at": "2024-05-01T12:00:00Z"},
        "oembed": {"type": "video"},
        "errors": [{"step": "text", "code": "crashed", "message": "?"}],
    }
    assert (first["enrich"], first["enriched_at"]) == ("done", NOW)
    assert not await enrichment.record(connection, item_id, Enrichment(), NOW + timedelta(hours=1))
    assert await row(connection, item_id) == first


async def test_i5_what_the_feed_said_stays(connection: AsyncConnection) -> None:
    own: dict[str, Any] = {
        "title": "Own www.title.test",
        "author": "Own",
        "image_url": "https://own.test/1.jpg",
        "duration_seconds": 1,
        "language": "pt-BR",
        "published_at": NOW - timedelta(days=1),
    }
    item_id = await item(connection, **own)
    await enrichment.record(connection, item_id, FOUND, NOW)
    kept = await row(connection, item_id)
    assert {name: kept[name] for name in own} == own
    assert (kept["site_name"], kept["words"]) == ("The Blog", 460)


@pytest.mark.parametrize("title", ["", "  ", "http://x.test/a", "www.x.test/a"])
async def test_i5_a_title_that_is_none_is_replaced_if_there_is_a_better(
    connection: AsyncConnection, title: str
) -> None:
    without, with_better = await item(connection, title=title), await item(connection, title=title)
    await enrichment.record(connection, without, Enrichment(), NOW)
    await enrichment.record(connection, with_better, FOUND, NOW)
    assert [(await row(connection, i))["title"] for i in (without, with_better)] == [title, "Lanterns"]


async def test_i5_items_are_due_in_order_and_by_feed(connection: AsyncConnection) -> None:
    later = await item(connection, due=NOW + timedelta(hours=1))
    second, first = await item(connection), await item(connection, due=NOW - timedelta(hours=1))
    await item(connection, enrich="done")
    await connection.execute(
        text("""insert into source (id, site, site_key, url, title, next_check_at)
                values ('f', 'feed', 'f', 'https://f.test', 'F', now())""")
    )
    await connection.execute(
        text("""insert into feed_item (source_id, item_key, item_id, title_key, content_hash, first_seen_at,
                  last_seen_at) values ('f', 'k', :item, '', '', now(), now())"""),
        {"item": second},
    )

    async def due(source_id: str | None, limit: int = 10) -> list[int]:
        found = await enrichment.due(connection, source_id=source_id, before=NOW, limit=limit)
        return [row["id"] for row in found]

    assert (await due(None), await due(None, 1), await due("f")) == ([first, second], [first], [second])
    await enrichment.put_off(connection, second, NOW + timedelta(hours=2))
    assert await due("f") == []
    taken = await enrichment.take_neglected(connection, before=NOW, now=NOW + timedelta(hours=3), limit=5)
    assert [row["id"] for row in taken] == [first]
    found = await enrichment.due(connection, source_id=None, before=NOW + timedelta(days=1), limit=9)
    assert [row["id"] for row in found] == [
        later,
        second,
        first,
    ]


async def test_i5_what_was_given_up_can_be_tried_again(connection: AsyncConnection) -> None:
    item_id = await item(connection)
    await enrichment.give_up(connection, item_id, NOW)
    failed = await enrichment.load(connection, item_id)
    await enrichment.try_again(connection, item_id, NOW)
    again = await enrichment.load(connection, item_id)
    assert failed is not None
    assert again is not None
    assert (failed.enrich, again.enrich) == ("failed", "due")
    await enrichment.record(connection, item_id, FOUND, NOW)
    await enrichment.give_up(connection, item_id, NOW)
    assert (await row(connection, item_id))["enrich"] == "done"
    assert await enrichment.load(connection, 10**9) is None
