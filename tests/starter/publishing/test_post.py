"""`fascicle post …` and what becomes of a post under `fascicle up` (P1, P2, P3, P9)."""

from pathlib import Path
from typing import Any

import pytest

from simulator.faults import Fault
from tests.publishing import PIXEL, PUBLISH
from tests.starter.commandline import wait_until
from tests.starter.conftest import Running
from tests.starter.publishing.test_account import connected

POST_FIELDS = {
    "id", "account", "state", "title", "description", "tags", "is_mature", "gallery_ids", "publish_at",
    "due_at", "jitter_seconds", "attempts", "last_error", "last_error_code", "published_at", "files",
    "events",
}  # fmt: skip


@pytest.fixture(scope="module")
def artist(running: Running) -> str:
    return str(connected(running, "ink-artist")["name"])


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "sheet one.png"
    path.write_bytes(PIXEL)
    return path


def create(running: Running, artist: str, path: Path, *options: str, title: str = "Sheet") -> dict[str, Any]:
    made: dict[str, Any] = running.json(
        "post", "create", str(path), "--title", title, "--account", artist, *options
    )
    return made


def until(running: Running, post_id: str, state: str) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        shown: dict[str, Any] = running.json("post", "show", post_id)
        return shown if shown["state"] == state else None

    # Asking is a process each time: not too often.
    found: dict[str, Any] = wait_until(reached, what=f"post {post_id} to be {state}", interval=1.0)
    return found


def test_p1_a_post_from_file_to_gallery(running: Running, artist: str, picture: Path) -> None:
    draft = create(running, artist, picture, "--tags", "ink,salt", "--mature", "moderate", "--noai")
    assert set(draft) >= POST_FIELDS
    assert (draft["state"], draft["tags"], draft["is_mature"], draft["noai"]) == (
        "draft", ["ink", "salt"], True, True
    )  # fmt: skip
    assert draft["feature"] is None, "what was not said is unset"
    scheduled = running.json("post", "schedule", draft["id"], "2031-05-01 18:00 Europe/Berlin")
    assert (scheduled["state"], scheduled["publish_at"]) == ("scheduled", "2031-05-01T16:00:00+00:00")
    moved = running.json("post", "reschedule", draft["id"], "2031-05-02T18:00Z")
    assert moved["publish_at"] == "2031-05-02T18:00:00+00:00"
    assert running.json("post", "cancel", draft["id"])["state"] == "cancelled"
    running.json("post", "publish-now", draft["id"])
    shown = until(running, draft["id"], "published")
    (out,) = [d for d in running.simulator.deviantart.published() if d.account == artist]
    assert shown["files"][0]["url"] == out.url
    (listed,) = [row for row in running.json("post", "list", "--account", artist) if row["id"] == draft["id"]]
    assert (listed["state"], listed["url"]) == ("published", out.url)
    assert "Sheet" in running.fascicle("post", "list").out
    assert out.url in running.fascicle("post", "show", draft["id"]).out


def test_p3_what_nobody_knows_is_listed_and_settled_by_a_person(
    running: Running, artist: str, picture: Path
) -> None:
    faults = running.simulator.faults
    faults.add(Fault(path=PUBLISH, status=400, body='{"error":"x","error_code":7}', count=1))
    post = create(running, artist, picture, "--at", "+0s", title="Gone")
    failed = until(running, post["id"], "failed")
    assert failed["last_error_code"] == "item_gone"
    assert "1 post failed" in running.fascicle("status").said()
    assert post["id"] in [row["id"] for row in running.json("status")["failed_posts"]]
    edited = running.json("post", "edit", post["id"], "--title", "Gone again", "--no-comments")
    assert (edited["title"], edited["allow_comments"], edited["state"]) == ("Gone again", False, "failed")
    assert running.fascicle("post", "edit", post["id"], "--title", "x" * 51).code == 2
    refused = running.fascicle("post", "reschedule", post["id"], "+1h")
    assert (refused.code, "is failed" in refused.said()) == (2, True)
    assert running.fascicle("post", "resolve", post["id"]).code == 2
    running.json("post", "resolve", post["id"], "--upload-anew")
    until(running, post["id"], "published")
    assert len([d for d in running.simulator.deviantart.published() if d.title == "Gone again"]) == 1
    assert running.json("post", "delete", post["id"])["deleted"] is True
    assert running.fascicle("post", "show", post["id"]).code == 2


def test_p2_a_time_without_a_zone_is_the_owners_or_an_error(
    running: Running, artist: str, picture: Path
) -> None:
    draft = create(running, artist, picture, title="Zoned")
    refused = running.fascicle("post", "schedule", draft["id"], "2031-05-01 18:00")
    assert refused.code == 2
    assert "has no time zone" in refused.said()
    running.fascicle("user", "add", "zoe")
    running.fascicle("account", "set", artist, "--user", "zoe")
    assert running.fascicle("post", "schedule", draft["id"], "2031-05-01 18:00").code == 2
    running.fascicle("user", "set", "zoe", "--time-zone", "Asia/Tokyo")
    scheduled = running.json("post", "schedule", draft["id"], "2031-05-01 18:00")
    assert scheduled["publish_at"] == "2031-05-01T09:00:00+00:00"


BAD: dict[str, tuple[list[str], str]] = {
    "a title of 10 kB": (["--title", "x" * 10_000], "10,000 characters"),
    "40 tags": (["--title", "T", "--tags", ",".join(f"t{n}" for n in range(40))], "40 tags"),
    "no such level": (["--title", "T", "--mature", "mild"], "mature level"),
    "no such resolution": (["--title", "T", "--display-resolution", "9"], "from 0"),
    "a time in the past": (["--title", "T", "--at", "2020-01-01T00:00Z"], "in the past"),
    "no time": (["--title", "T", "--at", "soon"], "no time"),
    "no such account": (["--title", "T", "--account", "nobody"], "no account"),
}


def test_x7_what_cannot_be_is_refused_without_a_trace(running: Running, artist: str, picture: Path) -> None:
    before = len(running.json("post", "list"))
    for name, (options, word) in BAD.items():
        outcome = running.fascicle("post", "create", str(picture), "--account", artist, *options)
        assert (outcome.code, word in outcome.said()) == (2, True), (name, outcome)
    assert len(running.json("post", "list")) == before


def test_x7_files_that_cannot_be_published_are_refused(running: Running, artist: str, tmp_path: Path) -> None:
    empty, large = tmp_path / "empty.png", tmp_path / "large.png"
    empty.touch()
    with large.open("wb") as file:
        file.truncate(30_000_001)
    cases = {empty: "is empty", large: "30,000,001 bytes", tmp_path: "no file"}
    for path, word in cases.items():
        outcome = running.fascicle("post", "create", str(path), "--title", "T", "--account", artist)
        assert (outcome.code, word in outcome.said()) == (2, True), outcome
    assert running.fascicle("post", "show", "nothing").code == 2
