"""`fascicle summarize`, `request …` and `item summarize`, as people and programs use them (R1, R2, R5)."""

import json
from typing import Any

import pytest

from fascicle.settings.settings import Settings
from simulator.faults import Fault
from simulator.feeds import EntrySpec, FeedSpec
from simulator.press import ArticleSpec
from tests.starter.commandline import ROOT, Outcome, wait_until
from tests.starter.conftest import Running

TITLE = "On [bold]lamps[/x] :fire:"
FIELDS = {
    "id", "url", "status", "stage", "progress", "position", "waiting_for", "not_before", "correlation_id",
    "workflow_id", "item_id", "attempts", "error", "title", "extractor", "tokens", "cost", "calls",
    "created_at", "started_at", "finished_at", "summary", "finished",
}  # fmt: skip
SUMMARY = {
    "summary_250", "summary_1000", "tldr", "key_ideas", "topic_tags", "entities", "language",
    "reading_time_minutes", "title", "method", "model", "label", "created_at",
}  # fmt: skip
RECORD = {
    "error_type", "error_code", "message", "stage", "correlation_id", "retryable", "attempt", "http_status",
}  # fmt: skip


def test_r1_a_page_from_the_address_to_the_summary(running: Running) -> None:
    url = _article(running, title=TITLE, slug="on-lamps", language="en")
    running.simulator.faults.add(Fault(kind="hold", hold="before", path="/press/articles/on-lamps", count=1))
    asked = running.fascicle("summarize", url, "--user", "sumi")
    running.simulator.faults.clear()
    assert (asked.code, "`summarize --wait` stays until it is done" in asked.said()) == (0, True)
    assert "sumi has no channel to be told through: fascicle user add sumi --notify URL" in asked.said()
    done = running.json("summarize", f"{url}?utm_source=mail#top", "--wait")
    assert set(done) == FIELDS | {"reception"}
    assert (done["status"], done["progress"], done["finished"]) == ("succeeded", 100, True)
    assert (done["extractor"], done["calls"], done["cost"]) == ("trafilatura", 0, 0)
    assert set(done["summary"]) == SUMMARY
    assert (done["summary"]["method"], done["summary"]["language"]) == ("extractive", "en")
    cached = running.fascicle("summarize", url).said()
    for words in ("It was summarised", TITLE, "No model wrote this", "--refresh", done["summary"]["tldr"]):
        assert words in cached
    _see_it(running, done["id"])
    anew = running.json("summarize", url, "--refresh", "--id", "own-1", "--wait")
    assert (anew["id"], anew["reception"], anew["status"]) == ("own-1", "started", "succeeded")
    assert running.json("summarize", url, "--id", "own-1")["reception"] == "cached"
    _refuses_what_is_over(running, "own-1")


def _see_it(running: Running, request_id: str) -> None:
    shown = running.json("request", "show", request_id)
    assert set(shown) == FIELDS | {"subscribers"}
    assert [(person["user"], person["told"]) for person in shown["subscribers"]] == [("sumi", "done")]
    told = running.fascicle("request", "show", request_id).said()
    for words in (f"id {request_id}", f"title {TITLE}", "read by trafilatura", "sumi done"):
        assert words in told
    listed = running.json("request", "list", "--user", "sumi", "--status", "succeeded")
    assert [row["id"] for row in listed] == [request_id]
    table = running.fascicle("request", "list").said()
    assert TITLE in table
    assert " ago" in table
    assert running.json("request", "spending") == {
        "days": [],
        "limits": {"tokens": 2_000_000, "cost": None},
        "left_today": {"tokens": 2_000_000, "cost": None},
    }
    assert "2,000,000 of 2,000,000" in running.fascicle("request", "spending").said()


def _refuses_what_is_over(running: Running, request_id: str) -> None:
    again = running.fascicle("request", "retry", request_id, "--json")
    assert (again.code, _error(again)) == (2, "already_done")
    assert "--refresh` does it anew" in again.said()
    stop = running.fascicle("request", "cancel", request_id, "--json")
    assert (stop.code, _error(stop)) == (2, "not_open")
    taken = running.fascicle("summarize", "https://elsewhere.test/", "--id", request_id, "--json")
    assert (taken.code, _error(taken)) == (2, "id_taken")


def test_r5_what_fails_says_why_and_how_to_go_on(running: Running) -> None:
    blocked = running.fascicle("summarize", "http://10.1.2.3/secret", "--wait", "--json")
    assert blocked.code == 1
    failed = _parsed(blocked)
    assert (failed["status"], failed["stage"], failed["summary"]) == ("failed", "extracting", None)
    assert set(failed["error"]) == RECORD
    assert failed["error"]["error_code"] == "blocked_address"
    assert failed["error"]["correlation_id"] == failed["correlation_id"]
    listed = running.fascicle("request", "list", "--status", "failed").said()
    assert f"{failed['id']} failed extracting 10.1.2.3/secret" in listed
    told = running.fascicle("request", "show", failed["id"]).said()
    assert "FASCICLE_ALLOW_HOSTS" in told
    assert f"fascicle request retry {failed['id']}" in told
    retried = running.json("request", "retry", failed["id"])
    assert (retried["id"], retried["reception"]) == (failed["id"], "retried")
    waited = running.fascicle("summarize", "http://10.1.2.3/secret", "--wait", "--within", "30")
    assert (waited.code, f"request {failed['id']}: blocked_address" in waited.said()) == (1, True)
    assert running.json("status")["requests"]["failed"] >= 1
    assert "10.1.2.3" not in running.fascicle("status").err, "a page's own fault needs nobody"


def test_r2_one_that_is_worked_on_is_cancelled_and_tried_again(running: Running) -> None:
    url = _article(running, slug="slow")
    running.simulator.faults.add(Fault(kind="delay", delay=30, path="/press/articles/slow", count=1))
    late = running.fascicle("summarize", url, "--id", "slow-1", "--wait", "--within", "1")
    assert (late.code, "Not done within 1 s: request slow-1" in late.said()) == (0, True)
    wait_until(lambda: running.json("request", "show", "slow-1")["stage"] == "extracting", what="its turn")
    held = running.json("summarize", url, "--id", "slow-1")
    assert (held["reception"], held["status"], held["stage"]) == ("lock_held", "running", "extracting")
    assert running.json("request", "cancel", "slow-1")["status"] == "cancelled"
    assert "tried again" in running.fascicle("request", "retry", "slow-1").said()
    wait_until(lambda: running.json("request", "show", "slow-1")["finished"], what="the summary")
    assert running.json("request", "show", "slow-1")["status"] == "succeeded"


def test_i5_an_items_page_is_summarised_into_its_lead(running: Running) -> None:
    running.simulator.feeds.add_feed(FeedSpec(name="summed", title="Summed"))
    running.simulator.feeds.add_entry("summed", EntrySpec(title="One"))
    subscribe = ("feed", "subscribe", running.simulator.feed_url("summed"), "--user", "kim")
    assert running.fascicle(*subscribe, "--backfill", "1", FASCICLE_FEED_PROCESSES="0").code == 0
    (row,) = running.json("inbox", "kim")
    done = running.json("item", "summarize", str(row["item_id"]), "--user", "kim", "--wait")
    assert (done["status"], done["item_id"]) == ("succeeded", row["item_id"])
    item = running.json("item", "show", str(row["item_id"]), "--user", "kim")
    assert (item["lead"], item["lead_kind"]) == (done["summary"]["summary_250"], "extractive")
    unknown = running.fascicle("item", "summarize", "987654", "--user", "kim", "--json")
    assert (unknown.code, _error(unknown)) == (2, "unknown_item")


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (("summarize", ""), "invalid_url", "empty"),
        (("summarize", "not a url"), "invalid_url", "spaces"),
        (("summarize", "example.test/x"), "invalid_url", "should begin with https://"),
        (("summarize", "https://ann:hunter2@example.test/"), "invalid_url", "take it out"),
        (("summarize", "https://example.test/", "--id", "two words"), "wrong_usage", "letters, digits"),
        (("request", "show", "[/nope]"), "unknown_request", "no request [/nope]: `fascicle request list`"),
        (("request", "retry", "nope"), "unknown_request", "no request nope"),
        (("request", "cancel", "nope"), "unknown_request", "no request nope"),
        (("request", "list", "--user", "nobody"), "unknown_user", "no user 'nobody'"),
        (("summarize",), None, "Missing argument 'URL'"),
        (("request", "list", "--status", "done"), None, "'succeeded'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_x7_wrong_input_is_told_in_a_sentence(
    running: Running, command: tuple[str, ...], code: str | None, words: str
) -> None:
    refused = running.fascicle(*command, "--json")
    assert refused.code == 2
    assert words in refused.said()
    assert "hunter2" not in refused.said()
    assert "error: " in refused.err
    if code is not None:
        assert _error(refused) == code


def test_o8_every_setting_of_requests_is_in_their_page() -> None:
    page = (ROOT / "docs" / "requests.md").read_text()
    families = ("request_", "retry_", "llm_", "firecrawl_", "article_")
    for name in (field.upper() for field in Settings.model_fields if field.startswith(families)):
        if name != "RETRY_BASE_SECONDS":  # of all other work
            assert f"`FASCICLE_{name}`" in page or f"`_{name.partition('_')[2]}`" in page, name


def _article(running: Running, **spec: str) -> str:
    return running.simulator.article_url(running.simulator.press.add(ArticleSpec(**spec)).slug)


def _parsed(outcome: Outcome) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(outcome.out)
    return parsed


def _error(outcome: Outcome) -> str:
    """The code of an error that is JSON."""
    refusal = _parsed(outcome)
    assert set(refusal) == {"error_code", "reason"}
    return str(refusal["error_code"])
