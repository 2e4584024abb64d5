"""What the commands show (O5): tables for people, JSON for programs, nobody's words touched."""

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from tests.starter.commandline import FASCICLE, child_pid, run_fascicle, wait_until
from tests.starter.conftest import BRACKETS, TOKEN, Running

SOURCE_FIELDS = {
    "id", "series_id", "site", "title", "cadence", "circuit", "failure_count", "last_checked_at",
    "next_check_at", "chapters",
}  # fmt: skip
LISTINGS = [
    ("status",), ("doctor",), ("config",), ("setup",), ("source", "list"), ("source", "show", BRACKETS),
    ("chapters", BRACKETS), ("user", "list"), ("notifications", "ann"), ("dead-letters", "list"),
    ("dead-letters", "list", "--state", "all"), ("account", "list"),
    ("schedule", "list"), ("post", "list"),
]  # fmt: skip


@pytest.mark.parametrize("command", LISTINGS, ids=" ".join)
def test_o5_every_listing_is_pure_json_when_asked(running: Running, command: tuple[str, ...]) -> None:
    outcome = running.fascicle(*command, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) is not None
    assert TOKEN not in outcome.out


@pytest.mark.parametrize("command", LISTINGS, ids=" ".join)
def test_o5_every_listing_is_a_table_without_it(running: Running, command: tuple[str, ...]) -> None:
    outcome = running.fascicle(*command)
    assert outcome.code == 0
    # `status` names there what needs a person, which may be what another test left behind.
    assert not outcome.err or command == ("status",)
    assert outcome.out.strip()
    assert TOKEN not in outcome.out


def test_o5_a_source_is_listed_with_what_programs_need(running: Running) -> None:
    rows = running.json("source", "list")
    assert all(row.keys() >= SOURCE_FIELDS for row in rows)
    [row] = [row for row in rows if row["title"] == BRACKETS]
    assert (row["site"], row["cadence"], row["circuit"], row["failure_count"]) == (
        "mangadex", "HOT", "closed", 0,
    )  # fmt: skip
    assert row["chapters"] == 4
    assert row["last_checked_at"] < row["next_check_at"]


def test_o5_chapters_are_listed_in_order_with_their_sources(running: Running) -> None:
    rows = running.json("chapters", BRACKETS)
    assert [row["key"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[3]["title"] == "[Extra] [/red] :smile:"
    assert all(row["first_detected_at"] and row["sources"][0]["site"] == "mangadex" for row in rows)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("source", "list"), BRACKETS),
        (("source", "show", BRACKETS), BRACKETS),
        (("chapters", BRACKETS), "[Extra] [/red] :smile:"),
        (("user", "list"), "Bob [/red]"),
        (("user", "add", "Bob [/red]"), "Bob [/red]"),
        (("follow", "Bob [/red]", BRACKETS), f"Bob [/red] now follows {BRACKETS}"),
        (("unfollow", "Bob [/red]", BRACKETS), f"Bob [/red] no longer follows {BRACKETS}"),
        (("unfollow", "Bob [/red]", BRACKETS), "did not follow"),
        (("source", "poll", BRACKETS), BRACKETS),
        (("notifications", "ann"), BRACKETS),
        (("chapters", "[/nothing]"), "[/nothing]"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_o5_brackets_in_peoples_words_are_shown_as_they_are(
    running: Running, command: tuple[str, ...], words: str
) -> None:
    assert words in running.fascicle(*command).said()


def test_x5_the_secrets_of_channels_are_never_shown(running: Running) -> None:
    [bob] = [user for user in running.json("user", "list") if user["name"] == "Bob [/red]"]
    assert bob["channels"]
    assert TOKEN not in str(bob)


@pytest.mark.parametrize("url", ["postgresql://u:{}@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x?password={}"])
def test_x5_the_passwords_of_the_configuration_are_never_shown(running: Running, url: str) -> None:
    secrets = {
        "DATABASE_URL": url.format(TOKEN),
        "TEMPORAL_API_KEY": TOKEN,
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization={TOKEN}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://me:{TOKEN}@127.0.0.1:1",
        "OTEL_SERVICE_NAME": "library",
    }
    for command in (("config",), ("config", "--json"), ("source", "list"), ("doctor",)):
        assert TOKEN not in running.fascicle(*command, **secrets).said()
    shown = running.fascicle("config", "--json", **secrets).json()
    assert "127.0.0.1" in shown["DATABASE_URL"]
    masked = ("TEMPORAL_API_KEY", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_ENDPOINT")
    assert {mark for name in masked for mark in shown[name]} == {"*"}
    assert shown["OTEL_SERVICE_NAME"] == "library"


def test_c15_pause_resume_and_priority_show_in_the_list(running: Running) -> None:
    source_id = running.json("source", "show", "Twin Rivers")["id"]

    def shown() -> Any:
        row = running.source(source_id)
        return bool(row["paused_at"]), row["paused_reason"], row["pinned_cadence"], row["cadence"]

    running.fascicle("source", "pause", source_id, "--reason", "moving [house]")
    running.fascicle("source", "priority", source_id, "cold")
    wait_until(lambda: shown() == (True, "moving [house]", "COLD", "COLD"), what="the pause")
    assert "paused" in running.fascicle("source", "list").out
    running.fascicle("source", "priority", source_id, "auto")
    running.fascicle("source", "resume", source_id)
    wait_until(lambda: shown()[:3] == (False, None, None), what="the resumption")


def test_c1_a_source_removed_and_added_while_no_worker_looks_has_a_workflow(running: Running) -> None:
    source = running.add("Fickle Tides")
    worker = child_pid(running.desk.data, "worker")
    os.kill(worker, signal.SIGSTOP)  # its workflow cannot stop before it is added again
    try:
        assert running.fascicle("source", "remove", source["id"]).code == 0
        again = running.json("source", "add", source["url"])
    finally:
        os.kill(worker, signal.SIGCONT)
    assert (again["id"], again["created"]) == (source["id"], True)
    assert running.json("source", "show", source["id"])["workflow"]["next_poll_at"], "it goes on"


def test_o5_the_installed_command_works_without_help_from_the_tests(running: Running) -> None:
    desk = running.desk
    listed = run_fascicle("source", "list", "--json", cwd=desk.folder, env=desk.env).json()
    assert BRACKETS in {row["title"] for row in listed}
    assert run_fascicle("--version", cwd=desk.folder, env=desk.env).out.startswith("fascicle ")


def test_o5_a_reader_who_leaves_early_is_no_error(running: Running) -> None:
    pipe = f"'{FASCICLE}' chapters Twin\\ Rivers --json | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", pipe], cwd=running.desk.folder, env=running.desk.env, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
