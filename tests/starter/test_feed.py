"""`fascicle feed`, `inbox`, `item` and `run`: the people's side of the inbox (I6, I7)."""

from itertools import count
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from simulator.feeds import EntrySpec, FeedSpec
from tests.starter.commandline import wait_until
from tests.starter.conftest import Desk, Running

RSS = """<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
<title>Talk [/red]</title><link>https://talk.test/</link><language>en-GB</language><itunes:author>Ilse</itunes:author>
<item><title>Second</title><guid>b</guid><link>/2</link><pubDate>Tue, 03 Nov 2026 10:00:00 GMT</pubDate>
  <enclosure url="https://talk.test/2.mp3" type="audio/mpeg" length="1"/>
  <itunes:duration>1:02:03</itunes:duration></item>
<item><title>First</title><guid>a</guid><author>Ilse</author></item><item/></channel></rss>"""

_names = (f"starter-{number}" for number in count())


def test_i7_a_file_is_previewed_without_a_stack(desk: Desk) -> None:
    file = _saved(desk.folder, RSS)
    found = desk.json("feed", "preview", file)
    assert {name: found[name] for name in ("kind", "format", "title", "site_url", "language", "entries")} == {
        "kind": "podcast",
        "format": "rss20",
        "title": "Talk [/red]",
        "site_url": "https://talk.test/",
        "language": "en-GB",
        "entries": 3,
    }
    second, first = found["items"]
    assert (second["id"], second["title"], second["duration_seconds"]) == ("b", "Second", 3723)
    assert second["published_at"] == "2026-11-03T10:00:00+00:00"
    assert second["media_url"] == "https://talk.test/2.mp3"
    assert (first["author"], first["published_at"], first["media_url"]) == ("Ilse", None, None)
    assert found["notes"] == ["1 entries are empty: they are left out"]
    shown = desk.fascicle("feed", "preview", file).said()
    for words in ("podcast", "Talk [/red]", "Second", "First"):
        assert words in shown


@pytest.mark.parametrize(
    ("content", "code", "reason"),
    [
        ("<html><title>Hello</title></html>", "not_a_feed", "HTML page"),
        ("", "not_a_feed", "empty document"),
        ("x" * 20_000_001, "too_large", "larger than 20 MB"),
        (None, "wrong_usage", "Addresses begin with https://"),
    ],
    ids=["page", "empty", "too large", "no file"],
)
def test_i7_a_preview_of_what_is_no_feed_says_why(
    desk: Desk, content: str | None, code: str, reason: str
) -> None:
    file = _saved(desk.folder, content) if content is not None else "nowhere.xml"
    refused = desk.fascicle("feed", "preview", file, "--json")
    assert refused.code == (1 if code == "not_a_feed" else 2)
    assert f'"error_code": "{code}"' in refused.out
    assert reason in refused.out


def test_i7_an_address_is_previewed_and_leaves_nothing(running: Running) -> None:
    name, url = _feed(running, "A blog", "One", "Two")
    before = running.json("source", "list")
    for address in (url, f"{running.simulator.site_url('feeds')}/{name}/page"):
        found = running.json("feed", "preview", address)
        assert (found["title"], found["url"]) == ("A blog", url)
        assert sorted(item["title"] for item in found["items"]) == ["One", "Two"]
    page = running.fascicle("feed", "preview", f"{running.simulator.url}/sink/nobody", "--json")
    assert page.code == 1
    assert '"error_code"' in page.out
    assert running.json("source", "list") == before


def test_i7_from_the_subscription_to_the_archive(running: Running) -> None:
    """Subscribe, an entry comes out, it is in the inbox, is dealt with; its run is shown and replayed."""
    name, url = _feed(running, "Daily [Lantern]", "Old one", "Old two")
    added = running.json("feed", "subscribe", url, "--user", "mara", "--backfill", "1", "--folder", "/News/ ")
    assert (added["created"], added["subscribed"], added["backfilled"]) == (True, True, 1)
    assert (added["folder"], added["kind"], added["items"], added["inbox"]) == ("News", "rss", 2, 1)
    again = running.fascicle("feed", "subscribe", url, "--user", "mara", "--title", "My lantern")
    assert "mara followed already: My lantern" in again.said()
    running.simulator.feeds.add_entry(name, EntrySpec(title="News [/x]", author="Ilse"))
    running.fascicle("source", "poll", added["source_id"])
    fresh = wait_until(lambda: _inbox(running, "News [/x]"), what="the entry in the inbox")
    assert (fresh["feed"], fresh["state"], fresh["author"]) == ("My lantern", "INBOX", "Ilse")
    running.up.until_said("mara: News [/x] (My lantern)")
    item = str(fresh["item_id"])
    assert "News [/x]" in running.fascicle("inbox", "mara", "--feed", "lantern").said()
    _deal_with(running, item)
    _look_at_runs(running, added["source_id"])


def _deal_with(running: Running, item: str) -> None:
    assert f"item {item} BOOKMARKED" in running.fascicle("item", "bookmark", item, "--user", "mara").said()
    assert [row["state"] for row in running.json("inbox", "mara", "--state", "bookmarked")] == ["BOOKMARKED"]
    assert running.json("item", "archive", item, item, "--user", "mara")["items"] == [int(item)]
    refused = running.fascicle("item", "unread", item, "999999", "--user", "mara")
    assert (refused.code, "There is no item 999999" in refused.err) == (2, True)
    shown = running.json("item", "show", item, "--user", "mara")
    assert (shown["state"], shown["title"]) == ("ARCHIVED", "News [/x]"), "all or nothing"
    assert [place["feed"] for place in shown["seen"]] == ["Daily [Lantern]"]
    assert running.json("item", "show", item, "--user", "ann")["state"] is None
    assert "News [/x]" in running.fascicle("item", "show", item).said()
    refused = running.fascicle("item", "bookmark", item, "--user", "ann", "--json")
    assert (refused.code, '"error_code": "not_in_inbox"' in refused.out) == (2, True)
    running.fascicle("item", "unread", item, "--user", "mara")


def _look_at_runs(running: Running, source_id: str) -> None:
    new = next(row for row in running.json("run", "list", "--feed", source_id) if row["outcome"] == "new")
    shown = running.json("run", "show", str(new["id"]))
    assert (shown["new"], shown["delivered"], shown["document_kept"], shown["letters"]) == (1, 1, True, [])
    before = running.json("inbox", "mara", "--state", "all")
    assert [row["state"] for row in before] == ["INBOX", "INBOX"]
    replayed = running.json("run", "replay", str(new["id"]), "--wait", "30")
    assert (replayed["replay_of"], replayed["entries"], replayed["delivered"]) == (new["id"], 3, 0)
    again = running.json("inbox", "mara", "--state", "all")
    assert [row["item_id"] for row in again] == [row["item_id"] for row in before], "nothing comes twice"
    assert "Daily [Lantern]" in running.fascicle("run", "list").said()


def test_i7_pause_resume_and_unsubscribe_are_one_persons(running: Running) -> None:
    _, url = _feed(running, "Weekly", "One")
    for user in ("jo", "kit"):
        running.fascicle("feed", "subscribe", url, "--user", user)
    assert running.json("feed", "pause", url, "--user", "jo")["state"] == "PAUSED"
    assert _subscription(running, "jo")["state"] == "PAUSED"
    assert _subscription(running, "kit")["state"] == "ACTIVE"
    assert "jo follows again Weekly" in running.fascicle("feed", "resume", "weekl", "--user", "jo").said()
    assert "Weekly" in running.fascicle("feed", "list").said()
    row = next(row for row in running.json("source", "list") if row["title"] == "Weekly")
    assert (row["site"], row["series_id"], row["items"]) == ("feed", None, 1)
    assert "1 items" in running.fascicle("source", "list").said()
    assert running.json("source", "show", row["id"])["gaps"] == []
    for command, words in (("replay", "fascicle run replay"), ("remove", "fascicle feed unsubscribe")):
        refused = running.fascicle("source", command, row["id"], *(["1"] if command == "replay" else []))
        assert (refused.code, words in refused.said()) == (2, True)
    for user in ("jo", "kit"):
        assert running.fascicle("feed", "unsubscribe", "Weekly", "--user", user).code == 0
    gone = running.fascicle("feed", "unsubscribe", "Weekly", "--user", "kit", "--json")
    assert (gone.code, '"error_code": "unknown_feed"' in gone.out) == (2, True)
    assert running.json("run", "list", "--feed", "Weekly"), "what it did is still known"


def test_i7_a_list_of_feeds_is_imported_and_exported(running: Running, tmp_path: Path) -> None:
    urls = [_feed(running, f"Imported {number}", "One")[1] for number in range(28)]
    dead = f"{running.simulator.site_url('feeds')}/no-such-feed"
    outlines = [_outline(url, f"Mine {number}") for number, url in enumerate(urls)]
    body = f"<outline text='Comics'>{''.join(outlines[:14])}</outline>{''.join(outlines[14:])}"
    body += _outline(dead, "Dead") + _outline("ftp://x.test/", "Odd") + outlines[0]
    file = _saved(tmp_path, f"<opml version='2.0'><body>{body}</body></opml>")
    begun = running.json("feed", "import", file, "--user", "lena", "--no-wait")
    assert (begun["feeds"], begun["subscribed"], begun["present"]) == (30, 29, 0)
    assert [row["title"] for row in begun["invalid"]] == ["Odd"]
    done = running.json("feed", "import", file, "--user", "lena")
    assert (done["subscribed"], done["present"], done["waiting"]) == (0, 29, 0)
    assert [(row["title"], row["error_code"]) for row in done["failed"]] == [("Dead", "not_found")]
    assert (
        "30 feeds: 0 new, 29 followed already"
        in running.fascicle("feed", "import", file, "--user", "lena").said()
    )
    listed = running.json("feed", "list", "--user", "lena")
    assert {row["state"] for row in listed} == {"ACTIVE"}
    assert sum(row["items"] for row in listed) == 28
    assert not running.json("inbox", "lena"), "what was there is history"
    exported = tmp_path / "out.opml"
    assert (
        "29 feeds are in" in running.fascicle("feed", "export", "--user", "lena", "-o", str(exported)).said()
    )
    again = running.json("feed", "import", str(exported), "--user", "otto", "--no-wait")
    assert (again["subscribed"], again["invalid"]) == (29, [])
    folders = [(row["title"], row["folder"]) for row in running.json("feed", "list", "--user", "otto")]
    assert folders == [(row["title"], row["folder"]) for row in listed]
    assert running.json("status")["feeds"]["failing"] >= 1
    assert "<opml" in running.fascicle("feed", "export").out
    _discard_letter(running, done["failed"][0]["source_id"])


def _discard_letter(running: Running, source_id: str) -> None:
    """Others, who count letters, use this stack, too."""
    letters = running.json("dead-letters", "list", "--kind", "poll")
    (letter,) = [row["id"] for row in letters if row["input"]["source_id"] == source_id]
    for user in ("lena", "otto"):
        running.fascicle("feed", "unsubscribe", source_id, "--user", user)
    assert running.fascicle("dead-letters", "discard", str(letter)).code == 0


def _feed(running: Running, title: str, *entries: str) -> tuple[str, str]:
    """Its name in the simulator, and its address."""
    name = next(_names)
    running.simulator.feeds.add_feed(FeedSpec(name=name, title=title))
    running.simulator.feeds.add_entries(name, [EntrySpec(title=entry) for entry in entries])
    return name, running.simulator.feed_url(name)


def _inbox(running: Running, title: str) -> Any:
    return next((row for row in running.json("inbox", "mara") if row["title"] == title), None)


def _subscription(running: Running, user: str) -> Any:
    (row,) = running.json("feed", "list", "--user", user)
    return row


def _outline(url: str, title: str) -> str:
    return f"<outline title={quoteattr(title)} xmlUrl={quoteattr(url)}/>"


def _saved(folder: Path, content: str) -> str:
    file = folder / "saved.xml"
    file.write_text(content)
    return str(file)
