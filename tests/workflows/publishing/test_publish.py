"""A post's way out, against the simulated DeviantArt, whose log is the judge."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fascicle.domain.names import publish_workflow_id
from fascicle.jobs.publishing import post_job
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post as posts
from fascicle.temporal.workflow_start import start_job
from simulator.deviantart.records import AccountLimit
from simulator.faults import Fault
from tests.harness import Harness, eventually
from tests.publishing import (
    FAST,
    GALLERY,
    PLACEBO,
    PUBLISH,
    SUBMIT,
    connect_account,
    draft,
    published_titles,
    scheduled,
    state_of,
    story,
    until_over,
    until_state,
)


@pytest.fixture
def overrides() -> dict[str, Any]:
    return dict(FAST)


async def test_p3_a_post_goes_out_with_all_that_was_said_of_it(stack: Harness) -> None:
    account = await connect_account(stack)
    post = await scheduled(
        stack,
        account,
        "Ink & Salt",
        description="<b>A study</b>",
        tags=["ink", "salt"],
        is_mature=True,
        mature_level="moderate",
        mature_classification=["gore"],
        display_resolution=0,
        allow_comments=False,
        noai=True,
    )
    assert await until_over(stack, post) == "published"
    (out,) = stack.simulator.deviantart.published()
    assert (out.account, out.title, out.tags, out.is_mature) == ("ann", "Ink & Salt", ["ink", "salt"], True)
    assert out.options["display_resolution"] == ["0"]
    assert out.options["allow_comments"] == ["0"]
    assert out.options["mature_classification[]"] == ["gore"]
    assert out.submission["artist_comments"] == ["<b>A study</b>"]
    (file,) = await stack.rows("select url, deviation_id, item_id, submits, intents from post_file")
    assert (file["url"], file["deviation_id"], file["item_id"]) == (
        out.url,
        out.deviation_id,
        str(out.item_id),
    )
    assert (file["submits"], file["intents"]) == (1, 1)
    assert await story(stack, post) == [
        "created", "scheduled", "begun", "uploaded", "intent", "file_published", "published"
    ]  # fmt: skip


async def test_p2_a_post_waits_for_its_time_and_what_is_past_due_goes_at_once(stack: Harness) -> None:
    account = await connect_account(stack)
    later = await scheduled(stack, account, "Later", due_in=3600)
    overdue = await scheduled(stack, account, "Overdue", due_in=-3600)
    assert await until_over(stack, overdue) == "published"
    assert await state_of(stack, later) == "scheduled"
    assert published_titles(stack) == ["Overdue"]
    due = await stack.value("select due_at - publish_at from post where id = :id", id=later)
    assert due == timedelta(0)


async def test_p1_jitter_is_drawn_once(stack: Harness) -> None:
    account = await connect_account(stack)
    post = await scheduled(stack, account, due_in=60, jitter_seconds=600)
    drawn = await eventually(lambda: stack.value("select due_at from post"))
    handle = stack.client.get_workflow_handle(publish_workflow_id(post))
    for _ in range(3):
        await handle.signal("look_again")
        await handle.query("plan")
    assert await stack.value("select due_at from post") == drawn
    publish_at = await stack.value("select publish_at from post")
    assert publish_at < drawn < publish_at + timedelta(seconds=600)


async def test_p1_several_files_go_up_first_and_out_in_their_order(stack: Harness) -> None:
    account = await connect_account(stack)
    post = await scheduled(stack, account, "Triptych", files=3)
    assert await until_over(stack, post) == "published"
    out = stack.simulator.deviantart.published()
    items = [row["item_id"] for row in await stack.rows("select item_id from post_file order by position")]
    assert [str(deviation.item_id) for deviation in out] == items
    assert len(set(items)) == 3
    first_out, last_up = out[0].at, stack.simulator.deviantart.submissions()[-1].at
    assert last_up < first_out


# What the site answers to the publish call, and what must come of it.
EDGE = {"status": 403, "body": "<html>", "headers": {"content-type": "text/html"}}
ANSWERS: dict[str, tuple[dict[str, Any], str]] = {
    "lost after publishing": ({"kind": "reset", "takes_effect": True}, "published"),
    "lost before publishing": ({"kind": "reset"}, "published"),
    "500 after publishing": ({"status": 500, "takes_effect": True}, "published"),
    "500 before publishing": ({"status": 500}, "published"),
    "empty answer": ({"status": 200, "body": "", "takes_effect": True}, "published"),
    "html with 200": ({"kind": "html", "takes_effect": True}, "published"),
    "half an answer": ({"kind": "half_json"}, "published"),
    "code 6": ({"status": 400, "body": '{"error_code": 6, "error": "x"}'}, "published"),
    "a redirect": ({"status": 302}, "published"),
    "429 without Retry-After": ({"status": 429}, "published"),
    "429 with Retry-After": ({"status": 429, "retry_after": 1}, "published"),
    "the edge": (EDGE, "published"),
    "401": ({"status": 401}, "published"),
    "policy": ({"status": 400, "body": '{"error":"x","error_code":1}'}, "failed"),
    "item gone": ({"status": 400, "body": '{"error":"x","error_code":7}'}, "failed"),
    "no right": ({"status": 403, "body": '{"error":"insufficient_scope"}'}, "failed"),
}


async def test_p3_whatever_is_answered_it_is_published_once_or_says_why_not(stack: Harness) -> None:
    for name, (fault, expected) in ANSWERS.items():
        account = await connect_account(stack, name.replace(" ", "-"))
        stack.simulator.faults.add(Fault(path=PUBLISH, count=1, **fault))
        post = await scheduled(stack, account, name)
        assert await until_over(stack, post) == expected, name
        out = [d for d in stack.simulator.deviantart.published() if d.title == name]
        assert len(out) == (expected == "published"), name
        (file,) = await stack.rows("select url, intent_at from post_file where post_id = :id", id=post)
        assert file == {"url": out[0].url if out else None, "intent_at": None}, name


SUBMITS: dict[str, dict[str, Any]] = {
    "stored, empty answer": {"status": 200, "body": "", "takes_effect": True},
    "500": {"status": 500},
    "lost after storing": {"kind": "reset", "takes_effect": True},
    "429": {"status": 429},
    "garbage": {"kind": "half_json"},
}


async def test_p3_an_unclear_upload_is_made_again_and_published_once(stack: Harness) -> None:
    for name, fault in SUBMITS.items():
        account = await connect_account(stack, f"artist-{len(name)}")
        stack.simulator.faults.add(Fault(path=SUBMIT, count=2, **fault))
        assert await until_over(stack, await scheduled(stack, account, name)) == "published", name
        assert list(published_titles(stack)).count(name) == 1


async def test_p3_an_upload_unclear_three_times_fails_and_can_be_tried_again(stack: Harness) -> None:
    account = await connect_account(stack)
    stack.simulator.faults.add(Fault(path=SUBMIT, count=3, status=200, body="", takes_effect=True))
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "failed"
    assert await stack.value("select last_error_code from post") == "submit_unclear"
    assert len(stack.simulator.deviantart.submissions()) == 3
    async with transaction(stack.dependencies.engine) as connection:
        await posts.retry(connection, post, datetime.now(UTC))
    await start_job(stack.client, post_job(post, title="Ink", account_id=account))
    assert await until_over(stack, post) == "published"
    assert published_titles(stack) == ["Ink"]


async def test_p3_published_long_before_and_not_in_the_gallery_is_published_without_an_address(
    stack: Harness,
) -> None:
    account = await connect_account(stack)
    stack.simulator.deviantart.configure(gallery_delay=3600)
    stack.simulator.faults.add(Fault(path=PUBLISH, count=1, kind="reset", takes_effect=True))
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "published"
    assert published_titles(stack) == ["Ink"]
    assert "refused_as_published" in await story(stack, post)
    assert await stack.value("select url from post_file") is None


async def test_p3_if_nothing_decides_a_person_does(stack: Harness) -> None:
    """The gallery is late and Sta.sh has forgotten the item: nobody knows."""
    account = await connect_account(stack)
    stack.simulator.deviantart.configure(gallery_delay=3600, forgets_published=True)
    stack.simulator.faults.add(Fault(path=PUBLISH, count=1, kind="reset", takes_effect=True))
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "unconfirmed"
    assert published_titles(stack) == ["Ink"]
    async with transaction(stack.dependencies.engine) as connection:
        await posts.resolve_published(connection, post, "https://example.org/art/1")
    assert await state_of(stack, post) == "published"
    assert await stack.value("select url from post_file") == "https://example.org/art/1"


async def test_p3_two_new_entries_with_the_title_are_for_a_person(stack: Harness) -> None:
    account = await connect_account(stack)
    hold = stack.simulator.faults.add(
        Fault(path=PUBLISH, count=1, kind="reset", takes_effect=True, delay=0.5)
    )
    post = await scheduled(stack, account)
    await eventually(lambda: stack.value("select intent_at from post_file"))
    stack.simulator.deviantart.post_by_hand("ann", "Ink")
    assert await until_over(stack, post) == "unconfirmed"
    assert hold.hits == 1
    assert await stack.value("select last_error_code from post") == "several_matches"
    assert published_titles(stack) == ["Ink"]


async def test_p3_the_same_title_again_is_not_mistaken_for_the_first(stack: Harness) -> None:
    account = await connect_account(stack)
    first = await scheduled(stack, account)
    assert await until_over(stack, first) == "published"
    stack.simulator.faults.add(Fault(path=PUBLISH, count=1, status=500))
    second = await scheduled(stack, account)
    assert await until_over(stack, second) == "published"
    assert published_titles(stack) == ["Ink", "Ink"]
    urls = await stack.rows("select url from post_file")
    assert len({row["url"] for row in urls}) == 2


async def test_p5_attempts_are_counted_and_end(stack: Harness) -> None:
    account = await connect_account(stack)
    stack.simulator.faults.add(Fault(path=PLACEBO, status=500))
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "failed"
    assert await stack.value("select attempts from post") == 7
    assert len(stack.simulator.simulation.requests.matching(PLACEBO)) == 7


async def test_p4_refusals_open_the_circuit_and_consume_no_attempt(
    harness: Harness,
) -> None:
    account = await connect_account(harness)
    harness.simulator.deviantart.limit_account("ann", AccountLimit(refuse=3))
    async with harness.workers():
        post = await scheduled(harness, account)
        await eventually(lambda: harness.value("select open_until from gate where open_until is not null"))
        (gate,) = await harness.rows("select * from gate where name = :name", name=f"deviantart:{account}")
        assert gate["refusals"] == 3
        assert 290 < (gate["open_until"] - datetime.now(UTC)).total_seconds() < 301
        assert await state_of(harness, post) == "uploading"
        assert await harness.value("select attempts from post") == 0


async def test_p5_a_lost_right_fails_the_post_and_is_mailed(stack: Harness) -> None:
    account = await connect_account(stack)
    stack.simulator.faults.add(Fault(path=PLACEBO, status=403, body='{"error":"insufficient_scope"}'))
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "failed"
    (mail,) = await stack.rows("select kind, post_id, body from mail")
    assert (mail["kind"], mail["post_id"]) == ("post_failed", post)


async def test_p6_a_dead_account_keeps_its_posts_until_it_is_connected_again(stack: Harness) -> None:
    account = await connect_account(stack)
    stack.simulator.deviantart.tokens.revoke_account("ann")
    post = await scheduled(stack, account)
    await eventually(lambda: stack.value("select paused_at from account"))
    waiting = await eventually(lambda: stack.value("select waiting_for from post"))
    assert "connected again" in waiting
    await connect_account(stack)
    await start_job(stack.client, post_job(post, title="Ink", account_id=account))
    assert await until_over(stack, post) == "published"
    assert published_titles(stack) == ["Ink"]
    assert await stack.value("select count(*) from mail") == 1


async def test_p6_a_key_that_is_missing_makes_posts_wait_not_fail(stack: Harness) -> None:
    account = await connect_account(stack)
    await stack.execute("update account set access_token = 'v1.lost.AAAA', refresh_token = 'v1.lost.AAAA'")
    post = await scheduled(stack, account)
    await until_state(stack, post, "uploading")
    handle = stack.client.get_workflow_handle(publish_workflow_id(post))

    async def says_so() -> bool:
        async for event in handle.fetch_history_events():
            if event.HasField("timer_started_event_attributes"):
                return True
        return False

    await eventually(says_so)
    assert await state_of(stack, post) == "uploading"
    assert await stack.value("select attempts from post") == 0


async def test_p3_an_object_that_vanished_fails_the_post_and_says_so(stack: Harness) -> None:
    account = await connect_account(stack)
    post = await draft(stack, account)
    await stack.dependencies.objects.remove(str(await stack.value("select object_key from post_file")))
    async with transaction(stack.dependencies.engine) as connection:
        await posts.publish_now(connection, post, datetime.now(UTC))
    await start_job(stack.client, post_job(post, title="Ink", account_id=account))
    assert await until_over(stack, post) == "failed"
    assert await stack.value("select last_error_code from post") == "object_missing"
    assert stack.simulator.deviantart.submissions() == []


async def test_p4_the_posts_of_an_account_go_out_in_order_one_at_a_time(stack: Harness) -> None:
    accounts = [await connect_account(stack, name) for name in ("ann", "bob")]
    for number in range(4):
        for account in accounts:
            await scheduled(stack, account, f"Sheet {number}", due_in=-60 + number)
    await eventually(lambda: _all_published(stack, 8))
    for name in ("ann", "bob"):
        assert published_titles(stack, name) == [f"Sheet {number}" for number in range(4)]


async def _all_published(stack: Harness, count: int) -> bool:
    return bool(await stack.value("select count(*) = :n from post where state = 'published'", n=count))


async def test_p3_the_gallery_is_read_only_where_it_must_be(stack: Harness) -> None:
    """Placebo, upload, baseline, publish: four requests, none more."""
    account = await connect_account(stack)
    assert await until_over(stack, await scheduled(stack, account)) == "published"
    paths = [entry.path for entry in stack.simulator.simulation.requests.matching("/deviantart/")]
    assert paths == [PLACEBO, SUBMIT, GALLERY, PUBLISH]
