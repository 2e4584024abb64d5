"""Dead letters at the command line (C11): looked at, replayed, discarded."""

from collections.abc import Callable
from typing import Any

from simulator.faults import Fault
from simulator.specs import SeriesSpec
from tests.starter.commandline import wait_until
from tests.starter.conftest import Running


def followed_by_ann(running: Running, title: str) -> dict[str, Any]:
    source = running.add(title)
    running.fascicle("follow", "ann", source["series_id"])
    return source


def letters(running: Running, state: str = "open") -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = running.json("dead-letters", "list", "--state", state)
    return listed


def the_letter(running: Running) -> dict[str, Any]:
    found: list[dict[str, Any]] = wait_until(lambda: letters(running), what="a dead letter")
    [letter] = found
    return letter


def state_of(running: Running, letter: dict[str, Any]) -> Callable[[], str]:
    return lambda: str(running.json("dead-letters", "show", str(letter["id"]))["state"])


def test_c11_a_source_that_vanished_is_buried_replayed_and_resolved(running: Running) -> None:
    title = "Vanishing [Act]"
    source = running.add(title)
    running.simulator.world.remove_series(source["site_key"])
    running.fascicle("source", "poll", source["id"])
    letter = the_letter(running)
    shown = running.json("dead-letters", "show", str(letter["id"]))
    assert shown["input"] == {"source_id": source["id"]}
    assert (shown["kind"], shown["workflow_id"]) == ("poll", f"source-{source['id']}")
    assert (shown["error"]["http_status"], shown["retryable"]) == (404, False)
    for command in ("list", f"show {letter['id']}"):
        assert letter["error_code"] in running.fascicle("dead-letters", *command.split()).out
    assert "dead letters" in running.fascicle("status").said()
    running.simulator.world.add_series(SeriesSpec(id=source["site_key"], title=title, chapters=4))
    assert running.fascicle("dead-letters", "replay", str(letter["id"])).code == 0
    wait_until(lambda: running.source(source["id"])["failure_count"] == 0, what="a good poll")
    assert letters(running) == []
    running.fascicle("source", "remove", source["id"])


def test_c11_a_message_in_doubt_is_sent_again_only_if_a_person_says_so(running: Running) -> None:
    source = followed_by_ann(running, "Doubtful Tidings")
    sink = running.simulator.sink
    before = len(sink.messages("ann"))
    running.simulator.faults.add(Fault(kind="reset", takes_effect=True, path="/sink/ann", count=1))
    running.simulator.world.release(source["site_key"])
    running.fascicle("source", "poll", source["id"])
    letter = the_letter(running)
    assert (letter["kind"], letter["error_code"]) == ("deliver", "delivery_unconfirmed")
    assert len(sink.messages("ann")) == before + 1
    assert running.fascicle("dead-letters", "replay", str(letter["id"])).code == 0
    wait_until(lambda: len(sink.messages("ann")) == before + 2, what="the message a person asked for")
    assert state_of(running, letter)() == "replayed"
    again = running.fascicle("dead-letters", "discard", str(letter["id"]))
    assert (again.code, "is replayed already" in again.said()) == (2, True)


def test_c11_a_discarded_letter_stays_discarded(running: Running) -> None:
    source = followed_by_ann(running, "Unwanted Tidings")
    running.simulator.faults.add(Fault(kind="reset", path="/sink/ann", count=1))
    running.simulator.world.release(source["site_key"])
    running.fascicle("source", "poll", source["id"])
    letter = the_letter(running)
    assert running.fascicle("dead-letters", "discard", str(letter["id"])).code == 0
    assert state_of(running, letter)() == "discarded"
    for command in ("replay", "discard"):
        outcome = running.fascicle("dead-letters", command, str(letter["id"]))
        assert (outcome.code, "discarded" in outcome.said()) == (2, True)
    newest = running.json("notifications", "ann")[0]
    assert [delivery["state"] for delivery in newest["deliveries"]] == ["discarded"]
