"""SourceWorkflow with feeds: polled politely, stored once, delivered once (I1–I4, I6, I7)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fascicle.domain.errors import PermanentError
from fascicle.domain.feeds.feed import SubscriptionState
from fascicle.domain.names import source_workflow_id
from fascicle.services.feeds.following import come_back, leave
from fascicle.services.feeds.incoming_items import FeedStore
from fascicle.storage.database import transaction
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import run as run_rows
from fascicle.storage.feeds import subscription as subscriptions
from fascicle.temporal.metrics import Metrics
from simulator.faults import Fault
from simulator.feeds.records import EntryPatch, FeedPatch
from tests.feeds import feed, inbox, poll, publish, read, requests, runs, user
from tests.harness import Harness, eventually


async def test_i1_one_feed_for_all_who_follow_it_and_only_what_comes_after(stack: Harness) -> None:
    url = feed(stack, entries=3)
    first = await read(stack, "ann", url)
    second = await read(stack, "ben", url, backfill=2)
    assert first.source_id == second.source_id
    assert (first.created, second.created, second.backfilled) == (True, False, 2)
    assert requests(stack, "blog") == 1, "the subscription's own reading is the first"
    await poll(stack, first)
    publish(stack, "blog", "News")
    await poll(stack, first)
    await poll(stack, first)
    assert await inbox(stack, "ann") == ["News"]
    assert await inbox(stack, "ben") == ["blog 1", "blog 2", "News"]
    assert [run["outcome"] for run in await runs(stack, first.source_id)] == [
        "first",
        "not_modified",
        "new",
        "not_modified",
    ]
    new = (await runs(stack, first.source_id))[2]
    assert (new["new"], new["delivered"], new["http_status"]) == (1, 2, 200)


async def test_i4_history_is_given_of_a_feed_that_was_not_read_yet(stack: Harness) -> None:
    url = feed(stack, entries=3)
    async with transaction(stack.dependencies.engine) as connection:  # as an import leaves it
        source_id, _ = await feeds.add(connection, url, title="Imported", page=None)
        await subscriptions.subscribe(connection, await user(stack, "ann"), source_id)
    given = await read(stack, "ben", url, backfill=2)
    assert (given.source_id, given.created, given.backfilled) == (source_id, False, 2)
    publish(stack, "blog", "News")
    await poll(stack, given)
    assert await inbox(stack, "ann") == ["News"]
    assert await inbox(stack, "ben") == ["blog 1", "blog 2", "News"]
    assert [run["outcome"] for run in await runs(stack, source_id)] == ["first", "new"]


async def test_i4_history_of_a_feed_that_rested_is_given_as_it_is_now(stack: Harness) -> None:
    resting = await read(stack, "ann", feed(stack, entries=1))
    await stack.execute("update subscription set state = 'PAUSED'")
    publish(stack, "blog", "Meanwhile")
    given = await read(stack, "ben", stack.simulator.feed_url("blog"), backfill=1)
    assert (given.source_id, given.backfilled) == (resting.source_id, 1)
    assert (await inbox(stack, "ann"), await inbox(stack, "ben")) == ([], ["Meanwhile"])


async def test_i1_an_idle_poll_is_one_activity(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    await poll(stack, subscribed)
    history = await stack.client.get_workflow_handle(source_workflow_id(subscribed.source_id)).fetch_history()
    kinds = [e.activity_task_scheduled_event_attributes.activity_type.name for e in history.events]
    assert [kind for kind in kinds if kind] == ["poll_feed"]


async def test_i1_a_page_leads_to_its_feed_and_a_handle_to_its_channel(stack: Harness) -> None:
    feed(stack, "comic", entries=1)
    by_page = await read(stack, "ann", f"{stack.simulator.site_url('feeds')}/comic/page")
    by_feed = await read(stack, "ben", stack.simulator.feed_url("comic"))
    assert by_page.source_id == by_feed.source_id
    feed(stack, "videos", entries=1, format="youtube", handle="panels")
    channel = await read(stack, "ann", "https://www.youtube.com/@panels", backfill=1)
    assert (await stack.rows("select kind from feed where source_id = :id", id=channel.source_id)) == [
        {"kind": "youtube"}
    ]
    assert await inbox(stack, "ann") == ["videos 0"]


async def test_i1_what_is_no_feed_is_refused_and_leaves_nothing(stack: Harness) -> None:
    feed(stack, "plain", raw="<html><body><p>No feed here.</p></body></html>", content_type="text/html")
    base = stack.simulator.site_url("feeds")
    for url, code in (
        (f"{base}/plain", "no_feed"),
        (f"{base}/nothing-here", "not_found"),
        (f"{base}/plain/endless", "too_many_redirects"),
        ("http://192.168.1.1/feed", "blocked_address"),
        ("ftp://example.org/feed", "invalid_url"),
    ):
        with pytest.raises(PermanentError) as refused:
            await read(stack, "ann", url)
        assert refused.value.code == code
    assert await stack.value("select count(*) from source") == 0


async def test_i1_a_redirect_is_believed_at_the_third_sighting(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack, "old"))
    new_url = feed(stack, "new", entries=0)
    stack.simulator.feeds.change_feed("old", FeedPatch(redirect_to="new", redirect_status=301))
    for _ in range(2):
        await poll(stack, subscribed)
    stack.simulator.feeds.change_feed("old", FeedPatch(redirect_to=None))
    await poll(stack, subscribed)
    assert await stack.value("select moved_sightings from feed") == 0
    stack.simulator.feeds.change_feed("old", FeedPatch(redirect_to="new", redirect_status=301))
    for _ in range(3):
        await poll(stack, subscribed)
    assert await stack.value("select url from feed") == new_url
    before = requests(stack, "old")
    publish(stack, "new", "At the new place")
    await poll(stack, subscribed)
    assert requests(stack, "old") == before
    assert await inbox(stack, "ann") == ["At the new place"]


async def test_i1_an_address_that_only_the_document_names_is_looked_at_first(stack: Harness) -> None:
    show, copy = (feed(stack, name, entries=0, format="podcast") for name in ("show", "copy"))
    for name in ("show", "copy"):
        publish(stack, name, "Episode 1", guid="e1")
    subscribed = await read(stack, "ann", show)
    for named, url in ((f"{show}-mistyped", show), (copy, copy)):
        stack.simulator.feeds.change_feed("show", FeedPatch(new_feed_url=named))
        await poll(stack, subscribed)
        assert await stack.value("select url from feed") == url
    assert await stack.value("select etag from feed") is None, "it was another server's"


async def test_i1_a_feed_that_is_gone_rests_until_a_person_says_otherwise(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    source = {"id": subscribed.source_id}
    stack.simulator.feeds.change_feed("blog", FeedPatch(gone=True))
    await poll(stack, subscribed)
    status = await stack.status(source)
    assert status["paused"]
    assert "410" in status["pause_reason"]
    assert await stack.source_value(subscribed.source_id, "last_error_code") == "not_found"
    stack.simulator.feeds.change_feed("blog", FeedPatch(gone=False))
    publish(stack, "blog", "Back again")
    await stack.workflow(source).signal("resume")
    await eventually(lambda: inbox(stack, "ann"), what="the item")


@pytest.mark.parametrize("overrides", [{"http_max_bytes": 100_000}])
async def test_i1_what_is_broken_is_recorded_and_looked_at_again(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    for change, code in (
        (FeedPatch(body_bytes=200_000), "too_large"),
        (FeedPatch(body_bytes=None, html=True), "not_a_feed"),
        (FeedPatch(html=False, raw="<rss><channel><item>"), ""),
    ):
        stack.simulator.feeds.change_feed("blog", change)
        before = datetime.now(UTC)
        await poll(stack, subscribed)
        assert (await stack.source_value(subscribed.source_id, "last_error_code") or "") == code
        assert await stack.source_value(subscribed.source_id, "next_check_at") > before + timedelta(minutes=4)
    assert [run["error_code"] for run in await runs(stack, subscribed.source_id)][:3] == [
        None,
        "too_large",
        "not_a_feed",
    ]
    stack.simulator.feeds.change_feed("blog", FeedPatch(raw=None))
    publish(stack, "blog", "Well again")
    await poll(stack, subscribed)
    assert await inbox(stack, "ann") == ["Well again"]
    assert await stack.source_value(subscribed.source_id, "failure_count") == 0


async def test_i1_what_the_site_asks_for_decides_when_to_look_next(stack: Harness) -> None:
    url = feed(stack, "patient", cache_control="public, max-age=7200")
    subscribed = await read(stack, "ann", url)
    await poll(stack, subscribed)
    status = await stack.status({"id": subscribed.source_id})
    due = datetime.fromisoformat(status["next_poll_at"])
    assert timedelta(minutes=110) < due - datetime.now(UTC) < timedelta(minutes=121)
    assert "the site asks for" in status["next_poll_reason"]
    stack.simulator.feeds.change_feed("patient", FeedPatch(cache_control="max-age=99999999"))
    await poll(stack, subscribed)
    due = datetime.fromisoformat((await stack.status({"id": subscribed.source_id}))["next_poll_at"])
    assert due - datetime.now(UTC) < timedelta(hours=25)


async def test_x2_retry_after_is_waited_out_and_no_failure(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    publish(stack, "blog", "News")
    stack.simulator.faults.add(Fault(path="/feeds/blog", status=429, retry_after="1", count=1))
    await poll(stack, subscribed)
    assert await inbox(stack, "ann") == ["News"]
    assert await stack.source_value(subscribed.source_id, "failure_count") == 0
    refused, looked = (await runs(stack, subscribed.source_id))[1:]
    assert (refused["outcome"], refused["error_code"], refused["http_status"]) == (
        "failed",
        "rate_limited",
        429,
    )
    assert looked["outcome"] == "new"


async def test_i2_dying_between_fetch_and_store_loses_and_doubles_nothing(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    publish(stack, "blog", "One", "Two")
    real = FeedStore.store
    died: list[int] = []

    async def dies_once(self: FeedStore, *arguments: Any, **options: Any) -> Any:
        stored = await real(self, *arguments, **options)
        if not died:
            died.append(stored.delivered)
            raise ConnectionResetError("just before the commit")
        return stored

    monkeypatch.setattr(FeedStore, "store", dies_once)
    await poll(stack, subscribed)
    assert died == [2]
    assert await inbox(stack, "ann") == ["One", "Two"]
    assert [run["new"] for run in await runs(stack, subscribed.source_id)] == [0, 2]


async def test_x1_a_failed_poll_counts_once_though_its_note_is_written_twice(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    stack.simulator.faults.add(Fault(path="/feeds/blog", status=404))
    real = Metrics.count_poll
    died: list[str] = []

    def dies_once(self: Metrics, site: str, outcome: str) -> None:
        if outcome == "failed" and not died:
            died.append(outcome)
            raise ConnectionResetError("just after the commit")
        real(self, site, outcome)

    monkeypatch.setattr(Metrics, "count_poll", dies_once)
    await poll(stack, subscribed)
    assert died == ["failed"]
    assert await stack.source_value(subscribed.source_id, "failure_count") == 1
    assert [run["outcome"] for run in await runs(stack, subscribed.source_id)] == ["first", "failed"]
    status = await stack.status({"id": subscribed.source_id})
    due = await stack.source_value(subscribed.source_id, "next_check_at")
    assert datetime.fromisoformat(status["next_poll_at"]) == due


async def test_i4_a_flood_of_new_ids_refills_no_inbox(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack, entries=8), backfill=8)
    stack.simulator.feeds.change_feed(
        "blog", FeedPatch(guid_prefix="moved-", link_base="https://new.example/")
    )
    publish(stack, "blog", "After the move")
    await poll(stack, subscribed)
    assert await inbox(stack, "ann") == [*(f"blog {n}" for n in range(8)), "After the move"]
    run = (await runs(stack, subscribed.source_id))[-1]
    assert (run["flood"], run["renamed"], run["new"]) == (True, 8, 1)


async def test_i4_i6_a_flood_without_news_is_not_called_new(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack, entries=8), backfill=8)
    stack.simulator.feeds.change_feed(
        "blog", FeedPatch(guid_prefix="moved-", link_base="https://new.example/")
    )
    await poll(stack, subscribed)
    stack.simulator.feeds.change_entry("blog", 3, EntryPatch(text="<p>Other words.</p>"))
    await poll(stack, subscribed)
    async with transaction(stack.dependencies.engine) as connection:
        listed = await run_rows.listing(connection, source_id=subscribed.source_id, limit=10)
    assert [(run["outcome"], run["new"]) for run in listed] == [("changed", 0), ("flood", 0), ("first", 0)]


async def test_i4_what_arrives_bears_the_time_of_its_delivery(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    publish(stack, "blog", "News")
    stack.simulator.faults.add(Fault(path="/feeds/blog", kind="delay", delay=0.3, count=1))
    await poll(stack, subscribed)
    run = (await runs(stack, subscribed.source_id))[-1]
    arrived = (await stack.rows("select arrived_at from inbox_item"))[0]["arrived_at"]
    # The site took its time to answer: nothing can have arrived before.
    assert run["started_at"] + timedelta(seconds=0.3) <= arrived <= run["finished_at"]


async def test_i6_a_run_is_replayed_from_its_document(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    publish(stack, "blog", "Lost by accident")
    await poll(stack, subscribed)
    run = (await runs(stack, subscribed.source_id))[-1]
    # A person deleted too much; and the feed does not list it any more.
    await stack.execute("delete from feed_item where title_key = 'lost by accident'")
    await stack.execute("delete from item where title = 'Lost by accident'")
    stack.simulator.feeds.change_feed("blog", FeedPatch(window=0))
    assert await inbox(stack, "ann") == []
    await stack.workflow({"id": subscribed.source_id}).signal("replay", str(run["id"]))
    await eventually(lambda: inbox(stack, "ann"), what="the item")
    replayed = (await runs(stack, subscribed.source_id))[-1]
    assert (replayed["replay_of"], replayed["new"]) == (run["id"], 1)


async def test_i6_a_letter_about_an_item_is_replayed(stack: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    await stack.execute("alter table item add constraint picky check (title <> 'Bad')")
    publish(stack, "blog", "Good", "Bad", "Better")
    await poll(stack, subscribed)
    assert await inbox(stack, "ann") == ["Good", "Better"]
    letter = await stack.value("select id from dead_letter where kind = 'item' and state = 'open'")
    await _replay(stack, letter)
    again = await stack.rows("select error_code, state from dead_letter where kind = 'item' order by id")
    assert [(row["error_code"], row["state"]) for row in again][-1] == ("invalid_data", "open")
    await stack.execute("alter table item drop constraint picky")
    await _replay(
        stack, await stack.value("select id from dead_letter where kind = 'item' and state = 'open'")
    )
    assert await inbox(stack, "ann") == ["Good", "Better", "Bad"]
    assert await stack.value("select count(*) from dead_letter where state = 'open'") == 0


async def _replay(stack: Harness, letter: int) -> None:
    await stack.client.execute_workflow(
        "ReplayLettersWorkflow", {"letters": [letter]}, id=f"replay-{letter}", task_queue="fascicle"
    )
    await stack.all_quiet()


async def test_i7_a_feed_that_nobody_wants_is_not_asked_for(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    source, ann = subscribed.source_id, await user(stack, "ann")
    await leave(stack.dependencies, stack.client, ann, source, SubscriptionState.PAUSED)
    await eventually(lambda: stack.source_value(source, "paused_at"), what="rest")
    publish(stack, "blog", "While she was away")
    await come_back(stack.dependencies, stack.client, ann, source)
    await eventually(lambda: _checked_again(stack, source), what="the first look after the pause")
    publish(stack, "blog", "After")
    await poll(stack, subscribed)
    assert await inbox(stack, "ann") == ["After"]
    await leave(stack.dependencies, stack.client, ann, source, SubscriptionState.UNSUBSCRIBED)
    await stack.workflow({"id": source}).result()
    publish(stack, "blog", "Unread")
    again = await read(stack, "ann", stack.simulator.feed_url("blog"))
    assert (again.source_id, again.created) == (source, True)
    await poll(stack, again)
    assert await inbox(stack, "ann") == ["After"]


async def _checked_again(stack: Harness, source: str) -> bool:
    """The silent look after coming back is over."""
    outcomes = [run["outcome"] for run in await runs(stack, source)]
    return outcomes.count("first") == 2


async def test_x1_what_a_command_left_half_done_is_finished_by_reconcile(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    await stack.execute("update subscription set state = 'PAUSED'")
    before = requests(stack, "blog")
    await poll(stack, subscribed)
    assert (await stack.status({"id": subscribed.source_id}))["paused"]
    assert requests(stack, "blog") == before, "nobody reads it"
    await stack.execute("update subscription set state = 'ACTIVE'")
    address = feed(stack, "imported")
    async with transaction(stack.dependencies.engine) as connection:
        source_id, _ = await feeds.add(connection, address, title="Imported", page=None)
        await subscriptions.subscribe(connection, await user(stack, "ann"), source_id)
    lost = await read(stack, "ann", feed(stack, "lost"))
    await stack.workflow({"id": lost.source_id}).signal("stop")
    await stack.workflow({"id": lost.source_id}).result()
    await stack.execute("update source set created_at = now() - interval '1 hour', next_check_at = null")
    await stack.client.execute_workflow("ReconcileWorkflow", id="reconcile-test", task_queue="fascicle")
    await eventually(lambda: stack.source_value(source_id, "first_synced_at"), what="the first look")
    await eventually(lambda: _is_polled(stack, subscribed.source_id), what="an end of the rest")
    assert await _is_polled(stack, lost.source_id), "one that ended is started again"


async def _is_polled(stack: Harness, source: str) -> bool:
    return not (await stack.status({"id": source}))["paused"]
