"""Every `temporal` command of docs/operations.md, run with the real program (C15, O4)."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulator.faults import Fault
from simulator.feeds import EntrySpec, FeedSpec
from simulator.press import ArticleSpec
from simulator.specs import UploadSpec
from tests.publishing import PIXEL, PUBLISH
from tests.starter.commandline import ROOT, wait_until
from tests.starter.conftest import Running
from tests.starter.publishing.test_account import connected

TEMPORAL = Path(sys.executable).with_name("temporal")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
COMMANDS = re.findall(r"`(temporal (?:workflow|schedule) [^`]*-(?:w|q|s) [^`]*)`", OPERATIONS)
FILTERS = re.findall(r"^\| `([^`]*=[^`]*|[^`]*STARTS_WITH[^`]*)` \|", OPERATIONS, re.MULTILINE)


def temporal(running: Running, command: str) -> str:
    """What it says. Of commands for many workflows Temporal carries out one at a time."""
    done = _run(running, command)
    for _ in range(30):
        if "Max concurrent batch operations" not in done.stderr:
            break
        done = _run(running, command)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def _run(running: Running, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TEMPORAL, *shlex.split(command)[1:], "--address", running.temporal_address],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=running.desk.folder,
        env=running.desk.env,
    )


@pytest.fixture(scope="module")
def source(running: Running) -> dict[str, Any]:
    return running.add("Steered by Temporal's own command", chapters=6)


def test_the_document_has_the_commands() -> None:
    assert len(COMMANDS) >= 17
    assert len(FILTERS) >= 8


def test_c15_every_command_of_the_document_works(running: Running, source: dict[str, Any]) -> None:
    for command in COMMANDS:
        if any(other in command for other in ("publish-POST", "fic-ao3", "-FEED", "-ITEM", "-REQUEST")):
            continue
        temporal(running, command.replace("source-ID", f"source-{source['id']}").replace("SITE", "mangadex"))
    # The document ends with everything resumed.
    wait_until(lambda: running.source(source["id"])["paused_at"] is None, what="the resumption")


def test_p2_every_command_for_a_post_works(running: Running, tmp_path: Path) -> None:
    artist = connected(running, "steered-artist")["name"]
    picture = tmp_path / "sheet.png"
    picture.write_bytes(PIXEL)
    one, other = (
        running.json("post", "create", str(picture), "--title", title, "--account", artist, "--at", "+1h")[
            "id"
        ]
        for title in ("One", "Other")
    )
    for name in ("reschedule", "plan", "cancel"):
        temporal(running, _post_command(f"--name {name}", one))
    shown = running.json("post", "show", one)
    assert (shown["state"], shown["publish_at"]) == ("cancelled", "2031-05-01T18:00:00+00:00")
    running.simulator.faults.add(
        Fault(path=PUBLISH, status=400, body='{"error":"x","error_code":1}', count=1)
    )
    temporal(running, _post_command("--name publish_now", other))
    wait_until(
        lambda: running.json("post", "show", other)["state"] == "failed", what="the refusal", interval=1
    )
    temporal(running, _post_command("workflow start", other))
    wait_until(
        lambda: running.json("post", "show", other)["state"] == "published", what="the retry", interval=1
    )


def test_i6_every_command_for_a_feed_works(running: Running) -> None:
    running.simulator.feeds.add_feed(FeedSpec(name="steered", title="Steered"))
    running.simulator.feeds.add_entry("steered", EntrySpec(title="One"))
    url = running.simulator.feed_url("steered")
    feed = running.json("feed", "subscribe", url, "--user", "steering", "--backfill", "1")["source_id"]
    (run,) = running.json("run", "list", "--feed", feed)
    (item,) = running.json("inbox", "steering")
    commands = [line for line in COMMANDS if "-FEED" in line or "-ITEM" in line]
    assert len(commands) == 4
    for command in commands:
        filled = command.replace("FEED", feed).replace("RUN", str(run["id"]))
        temporal(running, filled.replace("ITEM", str(item["item_id"])))
    wait_until(
        lambda: run["id"] in [row["replay_of"] for row in running.json("run", "list", "--feed", feed)],
        what="the replay",
        interval=1,
    )


def test_r2_every_command_for_a_request_works(running: Running) -> None:
    page = running.simulator.press.add(ArticleSpec(slug="steered"))
    running.simulator.faults.add(Fault(kind="delay", delay=60, path=page.path))
    asked = running.json("summarize", running.simulator.article_url("steered"))
    commands = [line.replace("REQUEST", asked["id"]) for line in COMMANDS if "-REQUEST" in line]
    assert len(commands) == 4
    said = "".join(temporal(running, command) for command in commands)
    for words in ('"status"', "waiting_for", page.path, f"correlation id: {asked['correlation_id']}"):
        assert words in said
    found = temporal(running, f"temporal workflow list -q \"CorrelationId='{asked['correlation_id']}'\"")
    assert asked["workflow_id"] in found
    wait_until(
        lambda: running.json("request", "show", asked["id"])["status"] == "cancelled", what="the cancellation"
    )


def _post_command(part: str, post_id: str) -> str:
    """The document's command of that kind, for this post."""
    (command,) = [str(line) for line in COMMANDS if "publish-POST" in line and part in line]
    return command.replace("POST", post_id)


def test_o4_every_filter_of_the_document_is_accepted(running: Running, source: dict[str, Any]) -> None:
    for wanted in FILTERS:
        query = re.sub(r"\bID\b", source["id"], wanted)
        temporal(running, f'temporal workflow list -q "{query}"')
    listed = temporal(running, f"temporal workflow list -q \"SourceId='{source['id']}'\"")
    assert f"source-{source['id']}" in listed


def test_o4_the_details_tell_the_last_poll_the_next_and_why(running: Running, source: dict[str, Any]) -> None:
    shown = temporal(running, f"temporal workflow metadata -w source-{source['id']}")
    for words in ("Steered by Temporal", "last poll:", "next poll:", "circuit: **closed**", "6 chapters"):
        assert words in shown


def test_c15_a_replayed_chapter_is_ingested_again_and_told_to_nobody_twice(
    running: Running, source: dict[str, Any]
) -> None:
    running.fascicle("follow", "ann", source["series_id"])
    before = len(running.simulator.sink.messages("ann"))
    running.simulator.world.release(source["site_key"], UploadSpec(chapter="7"))
    running.fascicle("source", "poll", source["id"])
    wait_until(lambda: len(running.simulator.sink.messages("ann")) == before + 1, what="the message")
    runs = ingest_runs(running, source, "7")
    temporal(running, f"temporal workflow signal -w source-{source['id']} --name replay --input '\"6.5-7\"'")
    wait_until(lambda: ingest_runs(running, source, "7") > runs, what="a second run")
    status = running.json("source", "show", source["id"])
    assert "replayed 1 chapters" in status["workflow"]["last_outcome"]
    assert len(running.simulator.sink.messages("ann")) == before + 1
    assert all(s["available"] for c in running.json("chapters", source["series_id"]) for s in c["sources"])


def ingest_runs(running: Running, source: dict[str, Any], key: str) -> int:
    listed = temporal(
        running, f"temporal workflow list -q \"WorkflowId='ingest-{source['id']}-{key}'\" -o json"
    )
    return listed.count('"startTime"')
