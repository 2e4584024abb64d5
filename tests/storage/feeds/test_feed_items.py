"""Storing what feeds list: seen, items and inbox rows together, each once (I2–I4)."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from fascicle.domain.feeds.feed import Entry, FeedKind, ParsedFeed, SubscriptionState
from fascicle.domain.feeds.news import Judged
from fascicle.services.feeds.incoming_items import FeedStore, prepared
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import item as items
from fascicle.storage.feeds import subscription as subscriptions
from fascicle.storage.feeds.feed import Feed
from fascicle.storage.feeds.item import ItemRow
from fascicle.storage.series import library
from tests.newsstand import NOW, Newsstand


def entry(number: int, **changes: Any) -> Entry:
    given = {
        "key": f"guid-{number}",
        "guid": f"guid-{number}",
        "url": f"https://blog.example/posts/{number}",
        "title": f"The story of day {number}",
        "content": f"<p>Words of day {number}.</p>",
        "published_at": NOW - timedelta(days=100 - number),
    }
    return Entry(**{**given, **changes})


@pytest.fixture
async def stand(database_url: str) -> AsyncIterator[Newsstand]:
    engine = open_engine(database_url)
    yield Newsstand(engine)
    await engine.dispose()


async def test_i4_history_is_stored_silently_and_news_reach_everybody_once(stand: Newsstand) -> None:
    blog = await stand.feed("blog", ["ann", "ben"])
    first = await stand.read(blog, entry(1), entry(2))
    assert (first.silent, first.new, first.delivered) == (2, 0, 0)
    assert await stand.inbox("ann") == []
    news = await stand.read(blog, entry(3), entry(2), entry(1))
    assert (news.new, news.delivered) == (1, 2)
    assert await stand.inbox("ann") == await stand.inbox("ben") == ["The story of day 3"]
    again = await stand.read(blog, entry(3), entry(2), entry(1))
    assert again.is_idle
    assert await stand.count("item") == 3
    assert await stand.count("inbox_item") == 2


async def test_i4_an_edit_changes_the_item_and_no_inbox(stand: Newsstand) -> None:
    blog = await stand.followed("blog")
    await stand.read(blog, entry(1))
    edit = await stand.read(blog, entry(1, title="Corrected", content="<p>Better.</p>"))
    assert (edit.updated, edit.new, edit.delivered) == (1, 0, 0)
    assert await stand.inbox("ann") == ["Corrected"]
    assert (await stand.rows("select content from item"))[0]["content"] == "<p>Better.</p>"


async def test_i3_two_feeds_with_one_page_are_one_item_in_one_inbox(stand: Newsstand) -> None:
    blog, links = await stand.followed("blog"), await stand.followed("links", ["ann", "ben"])
    await stand.read(blog, entry(1, content=None))
    shared = entry(
        1,
        key="other",
        url="http://www.blog.example/posts/1/?utm_source=links#top",
        title="Look at this",
        author="The linker",
    )
    stored = await stand.read(links, shared)
    assert (stored.new, stored.delivered) == (1, 1)
    # The feed that brought it names it; the other filled what was missing when it came.
    assert await stand.inbox("ann") == ["The story of day 1"]
    assert await stand.inbox("ben") == ["The story of day 1"]
    assert await stand.count("item") == 1
    await stand.read(links, shared.model_copy(update={"title": "Look again", "author": "The linker"}))
    assert await stand.inbox("ben") == ["The story of day 1"]
    assert (await stand.rows("select author from item"))[0]["author"] == "The linker"


async def test_i3_a_video_is_one_item_however_it_is_addressed(stand: Newsstand) -> None:
    channel, blog = await stand.followed("channel"), await stand.followed("blog")
    await stand.read(
        channel,
        entry(
            1,
            url="https://www.youtube.com/watch?v=dQw4w9WgXcQ",
            provider="youtube",
            provider_item_id="dQw4w9WgXcQ",
        ),
    )
    await stand.read(blog, entry(2, url="https://youtu.be/dQw4w9WgXcQ?t=43"))
    assert await stand.count("item") == 1
    assert len(await stand.inbox("ann")) == 1


async def test_i3_entries_that_share_an_address_stay_apart(stand: Newsstand) -> None:
    changes, home = await stand.followed("changes"), "https://changes.example/log"
    await stand.read(changes, entry(1, url=home), entry(2, url=home))
    await stand.read(changes, entry(3, url=home))
    # Not even the same address twice, one after the other, makes two entries one.
    assert len(await stand.inbox("ann")) == 3
    lonely = await stand.followed("lonely")
    await stand.read(lonely, entry(7, url="https://lonely.example/now", content="<p>One.</p>"))
    await stand.read(lonely, entry(8, url="https://lonely.example/now", content="<p>Two.</p>"))
    assert len(await stand.inbox("ann")) == 5


async def test_i2_the_same_bare_id_in_two_feeds_is_two_items(stand: Newsstand) -> None:
    one, other = await stand.followed("one"), await stand.followed("other")
    await stand.read(one, entry(1, key="1"))
    await stand.read(other, entry(2, key="1"))
    assert len(await stand.inbox("ann")) == 2


async def test_i4_a_move_keeps_items_and_inboxes_and_updates_addresses(stand: Newsstand) -> None:
    blog = await stand.followed("blog")
    await stand.read(blog, *(entry(n) for n in range(20)))
    assert len(await stand.inbox("ann")) == 20
    moved = [entry(n, key=f"tag:{n}", url=f"https://new.example/{n}") for n in range(20)]
    stored = await stand.read(blog, *moved)
    assert (stored.renamed, stored.new, stored.delivered, stored.flood) == (20, 0, 0, True)
    assert await stand.count("item") == 20
    urls = {row["url"] for row in await stand.rows("select url from item")}
    assert urls == {f"https://new.example/{n}" for n in range(20)}
    assert (await stand.read(blog, *moved)).is_idle


async def test_i4_what_was_forgotten_and_comes_back_is_no_news(stand: Newsstand) -> None:
    blog = await stand.followed("blog")
    await stand.read(blog, entry(1), entry(2))
    await stand.rows("update inbox_item set state = 'ARCHIVED', state_at = :at returning 1", at=NOW)
    later = stand.clock + timedelta(days=9)
    async with transaction(stand.engine) as connection:
        assert await items.forget(connection, before=later) == 0, "they are in its latest document"
    await stand.rows("update feed_item set last_seen_at = :at returning 1", at=NOW - timedelta(days=5))
    await stand.read(blog, entry(3))
    async with transaction(stand.engine) as connection:
        assert await items.forget(connection, before=later) == 2
    assert await stand.count("item") == 1
    assert (await stand.read(blog, entry(1), entry(2, title="Edited"))).new == 0
    assert await stand.inbox("ann") == ["The story of day 3"]


async def test_i7_only_active_subscriptions_receive(stand: Newsstand) -> None:
    blog = await stand.followed("blog", ["ann", "ben", "cleo"])
    async with transaction(stand.engine) as connection:
        for name, state in (("ben", SubscriptionState.PAUSED), ("cleo", SubscriptionState.UNSUBSCRIBED)):
            user_id = await library.find_user(connection, name)
            assert user_id is not None
            await subscriptions.set_state(connection, user_id, blog, state)
    assert (await stand.read(blog, entry(1))).delivered == 1
    assert [len(await stand.inbox(name)) for name in ("ann", "ben", "cleo")] == [1, 0, 0]


async def test_i4_backfill_gives_one_person_the_newest(stand: Newsstand) -> None:
    blog = await stand.feed("blog", ["ann"])
    await stand.read(blog, *(entry(n) for n in range(10)))
    async with transaction(stand.engine) as connection:
        ben, _ = await library.add_user(connection, "ben")
        await subscriptions.subscribe(connection, ben, blog)
        given = await subscriptions.backfill(connection, ben, blog, most=3, now=NOW)
        assert len(given) == 3
        assert await subscriptions.backfill(connection, ben, blog, most=3, now=NOW) == []
    assert sorted(await stand.inbox("ben")) == [f"The story of day {n}" for n in (7, 8, 9)]
    assert await stand.inbox("ann") == []


async def test_i6_one_bad_entry_keeps_no_other_out_and_is_buried_whole(stand: Newsstand) -> None:
    blog = await stand.followed("blog")

    def picky(judged: Judged, feed: Feed, claims_url: bool) -> ItemRow:
        if judged.listed.key == "guid-2":
            raise ValueError("a number that is none")
        return prepared(judged, feed, claims_url)

    impossible = entry(3, duration_seconds=2**40)
    store = FeedStore(enrich=True, prepare=picky)
    stored = await stand.read(blog, entry(1), entry(2), impossible, entry(4), store=store)
    assert (stored.new, stored.failed, stored.delivered) == (2, 2, 2)
    letters = await stand.rows(
        "select job_key, error_code, input from dead_letter where kind = 'item' order by job_key"
    )
    assert [letter["error_code"] for letter in letters] == ["bad_entry", "invalid_data"]
    assert letters[0]["job_key"] == f"{blog}:guid-2"
    assert letters[0]["input"]["entry"]["title"] == "The story of day 2"
    # It waits for a person; the next look does not try it again.
    assert (await stand.read(blog, entry(2), impossible)).is_idle


async def test_i2_a_failure_half_way_leaves_nothing(
    stand: Newsstand, monkeypatch: pytest.MonkeyPatch
) -> None:
    blog = await stand.followed("blog")
    real = items.deliver

    async def dies(*arguments: Any) -> int:
        raise ConnectionResetError("the process was killed just here")

    monkeypatch.setattr(items, "deliver", dies)
    with pytest.raises(Exception, match="killed just here"):
        await stand.read(blog, entry(1))
    assert await stand.count("item") == await stand.count("feed_item") == 0
    monkeypatch.setattr(items, "deliver", real)
    assert (await stand.read(blog, entry(1))).delivered == 1


async def test_i2_a_thousand_readers_are_one_statement(stand: Newsstand) -> None:
    blog = await stand.followed("blog")
    await stand.rows(
        """with people as (insert into app_user (id, name) select 'u' || n, 'user ' || n
             from generate_series(1, 1000) n returning id)
           insert into subscription (user_id, source_id) select id, :id from people returning 1""",
        id=blog,
    )
    statements: list[str] = []
    event.listen(stand.engine.sync_engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    stored = await stand.read(blog, entry(1), entry(2))
    assert stored.delivered == 2 * 1001
    assert sum("insert into inbox_item" in statement for statement in statements) == 1
    assert len(statements) < 25


async def test_items_are_harmless_and_storable(stand: Newsstand) -> None:
    blog = await stand.followed("blog")
    await stand.read(
        blog,
        entry(
            1,
            title="Nul\0 and half a \ud83d character",
            content="<p onclick='x()'>Hi<script>alert(1)</script><img src='javascript:x' alt='y'>"
            "<a href='javascript:x()'>a</a><img src='https://i.example/p.png'></p>",
            image_url="javascript:alert(1)",
            author="<b>Bo</b>",
        ),
        entry(2, key="words-only", title="", url=None, summary="<p>Just some words.</p>", content=None),
    )
    rows = await stand.rows("select title, content, image_url, author from item order by title desc")
    assert rows[0]["title"] == "Nul and half a ? character"
    assert "script" not in rows[0]["content"]
    assert "onclick" not in rows[0]["content"]
    assert 'src="https://i.example/p.png"' in rows[0]["content"]
    assert (rows[0]["image_url"], rows[0]["author"]) == (None, "Bo")
    assert rows[1]["title"] == "Just some words."


async def test_i5_only_what_somebody_has_is_enriched(stand: Newsstand) -> None:
    blog = await stand.feed("blog")
    await stand.read(blog, entry(1))
    await stand.read(blog, entry(1), entry(2))
    assert [r["enrich"] for r in await stand.rows("select enrich from item order by id")] == ["none", "due"]


async def test_i1_a_moved_feed_joins_the_one_that_is_there_already(stand: Newsstand) -> None:
    old, new = await stand.feed("old", ["ann", "ben"]), await stand.feed("new", ["ben"])
    async with transaction(stand.engine) as connection:
        assert not await feeds.adopt_address(connection, old, "https://new.example/feed")
        assert await feeds.adopt_address(connection, new, "https://newer.example/feed")
    rows = await stand.rows(
        """select name, source_id from subscription join app_user on app_user.id = user_id
           where state = 'ACTIVE' order by name"""
    )
    assert [(row["name"], row["source_id"]) for row in rows] == [("ann", new), ("ben", new)]
    assert (await stand.rows("select removed_at from source where id = :id", id=old))[0]["removed_at"]


async def test_i3_the_feed_at_home_says_what_its_page_is_called(stand: Newsstand) -> None:
    links, blog = await stand.followed("links"), await stand.followed("blog", ["ben"])
    await stand.read(links, entry(1, key="other", title="You will not believe it", content="<p>Bait.</p>"))
    await stand.read(blog, entry(1))
    assert await stand.inbox("ann") == ["The story of day 1"]
    await stand.read(links, entry(1, key="other", title="Bait again", content="<p>Bait.</p>"))
    assert await stand.inbox("ann") == ["The story of day 1"]
    await stand.read(blog, entry(1, title="The story, corrected"))
    assert await stand.inbox("ann") == ["The story, corrected"]


async def test_i2_episodes_under_one_id_are_episodes_all_the_same(stand: Newsstand) -> None:
    def episode(number: int) -> Entry:
        return entry(number, key="1", provider="podcast", provider_item_id="show:1")

    podcast = await stand.followed("podcast")
    for number in (1, 2, 3):
        assert (await stand.read(podcast, episode(number))).delivered == 1


async def test_i6_a_document_of_yesterday_undoes_no_edit(stand: Newsstand) -> None:
    blog, store = await stand.followed("blog"), FeedStore(enrich=False)
    await stand.read(blog, entry(1), entry(2))
    await stand.read(blog, entry(1, title="Corrected"))
    await stand.rows("delete from feed_item where item_key = 'guid-2' returning 1")
    await stand.rows("delete from item where title like '%day 2' returning 1")
    yesterday = ParsedFeed(kind=FeedKind.RSS, format="rss20", title="Old", entries=[entry(1), entry(2)])
    stored = await stand.read_document(blog, yesterday, store, replay=True)
    assert (stored.new, stored.updated) == (1, 0)
    assert sorted(await stand.inbox("ann")) == ["Corrected", "The story of day 2"]
    assert (await stand.rows("select title from source"))[0]["title"] == "blog"


async def test_i4_ids_made_up_at_each_request_fill_no_table(stand: Newsstand) -> None:
    blog = await stand.followed("blog")
    for round_ in range(5):
        made_up = [entry(number, key=f"{round_}-{number}") for number in range(4)]
        assert (await stand.read(blog, *made_up)).new == (0 if round_ else 4)
    assert await stand.count("feed_item") == await stand.count("item") == 4


async def test_i5_an_edit_leaves_a_title_alone_that_the_page_gave(stand: Newsstand) -> None:
    blog = await stand.followed("blog")
    await stand.read(blog, entry(1, title="", content=None))
    await stand.rows("update item set title = 'As the page has it' returning 1")
    await stand.read(blog, entry(1, title="", content=None, author="Bo"))
    assert await stand.inbox("ann") == ["As the page has it"]
