"""`fascicle feed`, `inbox`, `item` and `run`: the people's side of the inbox (I6, I7).

What only commands can show: the rest is tested without them, in tests/storage and tests/workflows.
"""

from itertools import count
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from fascicle.imports.feeds_opml import parse_feed_opml
from simulator.faults import Fault
from simulator.feeds import EntrySpec, FeedSpec
from tests.starter.commandline import Outcome, wait_until
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
        (None, "wrong_usage", "Addresses begin with https://"),
    ],
    ids=["page", "no file"],
)
def test_i7_a_preview_of_what_is_no_feed_says_why(
    desk: Desk, content: str | None, code: str, reason: str
) -> None:
    file = _saved(desk.folder, content) if content is not None else "nowhere.xml"
    refused = desk.fascicle("feed", "preview", file, "--json")
    assert refused.code == (1 if code == "not_a_feed" else 2)
    assert f'"error_code": "{code}"' in refused.out
    assert reason in refused.out


def test_i7_from_the_subscription_to_the_archive(running: Running) -> None:
    """A feed is previewed and subscribed to, an entry comes out and is dealt with; its run is read again."""
    name, url = _feed(running, "Daily [Lantern]", "Old one", "Old two")
    previewed = running.json("feed", "preview", f"{running.simulator.site_url('feeds')}/{name}/page")
    assert (previewed["url"], len(previewed["items"])) == (url, 2)
    wishes = ("--backfill", "1", "--title", "My lantern", "--folder", "/News/ ", "--json")
    added = _subscribe(running, url, "mara", *wishes).json()
    assert (added["created"], added["subscribed"], added["backfilled"]) == (True, True, 1), (
        "a preview is none"
    )
    assert (added["folder"], added["kind"], added["items"], added["inbox"]) == ("News", "rss", 2, 1)
    running.simulator.feeds.add_entry(name, EntrySpec(title="News [/x]", author="Ilse"))
    running.fascicle("source", "poll", added["source_id"])
    running.up.until_said("mara: News [/x] (My lantern)")
    assert "News [/x]" in running.fascicle("inbox", "mara").said()
    fresh = running.json("inbox", "mara", "--feed", "lantern")[0]
    assert (fresh["title"], fresh["feed"], fresh["author"]) == ("News [/x]", "My lantern", "Ilse")
    _deal_with(running, str(fresh["item_id"]))
    _replay_its_run(running, added["source_id"])
    _come_and_go(running, url, added["source_id"])


def _deal_with(running: Running, item: str) -> None:
    assert f"item {item} BOOKMARKED" in running.fascicle("item", "bookmark", item, "--user", "mara").said()
    refused = running.fascicle("item", "unread", item, "999999", "--user", "mara")
    assert (refused.code, "There is no item 999999" in refused.err) == (2, True)
    shown = running.fascicle("item", "show", item, "--user", "mara").said()
    for words in ("News [/x]", "Daily [Lantern]", "BOOKMARKED"):
        assert words in shown, "all or nothing"
    assert running.json("item", "archive", item, item, "--user", "mara")["items"] == [int(item)]


def _replay_its_run(running: Running, source_id: str) -> None:
    new = next(row for row in running.json("run", "list", "--feed", source_id) if row["outcome"] == "new")
    shown = running.json("run", "show", str(new["id"]))
    assert (shown["new"], shown["delivered"], shown["document_kept"], shown["letters"]) == (1, 1, True, [])
    replayed = running.json("run", "replay", str(new["id"]), "--wait", "30")
    assert (replayed["replay_of"], replayed["entries"], replayed["delivered"]) == (new["id"], 3, 0)


def _come_and_go(running: Running, url: str, source_id: str) -> None:
    running.fascicle("source", "pause", source_id, "--reason", "its site [asked]")
    wait_until(lambda: running.source(source_id)["paused_at"], what="the pause")
    again = _subscribe(running, url, "mara").said()
    assert "mara followed already: My lantern" in again
    assert f"paused for everybody: its site [asked]. Go on: fascicle source resume {source_id}" in again
    assert running.json("feed", "pause", source_id, "--user", "mara")["state"] == "PAUSED"
    assert "PAUSED" in running.fascicle("feed", "list").said()
    resumed = running.fascicle("feed", "resume", "my lan", "--user", "mara")
    assert "mara follows again My lantern" in resumed.said()
    refused = running.fascicle("source", "remove", source_id)
    assert (refused.code, "fascicle feed unsubscribe" in refused.said()) == (2, True)
    assert running.fascicle("feed", "unsubscribe", source_id, "--user", "mara").code == 0
    assert "Daily [Lantern]" in running.fascicle("run", "list", "--feed", source_id).said(), "still known"


def test_i7_who_subscribes_to_nothing_is_not_made(running: Running) -> None:
    dead = f"{running.simulator.site_url('feeds')}/nowhere?auth=secret"
    refused = _subscribe(running, dead, "kit")
    assert (refused.code, "secret" in refused.said()) == (1, False)
    assert running.fascicle("feed", "list", "--user", "kit").code == 2


def test_i7_a_list_of_feeds_is_imported_and_exported(running: Running, tmp_path: Path) -> None:
    first, second = (_feed(running, f"Imported {number}", "One")[1] for number in range(2))
    dead = f"{running.simulator.site_url('feeds')}/no-such-feed"
    inner = f"<outline text='Comics'>{_outline(first, 'Mine')}</outline>{_outline(second, second)}"
    body = inner + _outline(dead, "Dead") + _outline("ftp://x.test/", "Odd") + _outline(first, "Mine")
    file = _saved(tmp_path, f"<opml version='2.0'><body>{body}</body></opml>")
    done = running.json("feed", "import", file, "--user", "lena")
    assert (done["feeds"], done["subscribed"], done["present"], done["waiting"]) == (4, 3, 0, 0)
    assert [row["title"] for row in done["invalid"]] == ["Odd"]
    assert [(row["title"], row["error_code"]) for row in done["failed"]] == [("Dead", "not_found")]
    again = running.fascicle("feed", "import", file, "--user", "lena", "--no-wait")
    assert "4 feeds: 0 new, 3 followed already" in again.said()
    exported = tmp_path / "out.opml"
    written = running.fascicle("feed", "export", "--user", "lena", "-o", str(exported))
    assert "3 feeds are in" in written.said()
    assert {(feed.url, feed.title, feed.folder) for feed in parse_feed_opml(exported.read_bytes())} == {
        (first, "Mine", "Comics"),
        (second, "Imported 1", None),
        (dead, "Dead", None),
    }
    _replay_in_vain(running, done["failed"][0]["source_id"])
    _discard_letter(running, done["failed"][0]["source_id"])


def _replay_in_vain(running: Running, source_id: str) -> None:
    """A run without a document: what the feed has now is read, and is a page."""
    (failed, *_) = running.json("run", "list", "--feed", source_id, "--failed")
    running.simulator.faults.add(Fault(kind="html", path="/feeds/no-such-feed"))
    replayed = running.fascicle("run", "replay", str(failed["id"]), "--wait", "30")
    assert replayed.code == 1
    assert "failed, " in replayed.said()
    assert "HTML page" in replayed.said()


def _discard_letter(running: Running, source_id: str) -> None:
    """Others, who count letters, use this stack, too."""
    letters = running.json("dead-letters", "list", "--kind", "poll")
    (letter,) = [row["id"] for row in letters if row["input"]["source_id"] == source_id]
    running.fascicle("feed", "unsubscribe", source_id, "--user", "lena")
    assert running.fascicle("dead-letters", "discard", str(letter)).code == 0


def _subscribe(running: Running, url: str, user: str, *options: str) -> Outcome:
    return running.fascicle("feed", "subscribe", url, "--user", user, *options)


def _feed(running: Running, title: str, *entries: str) -> tuple[str, str]:
    """Its name in the simulator, and its address."""
    name = next(_names)
    running.simulator.feeds.add_feed(FeedSpec(name=name, title=title))
    running.simulator.feeds.add_entries(name, [EntrySpec(title=entry) for entry in entries])
    return name, running.simulator.feed_url(name)


def _outline(url: str, title: str) -> str:
    return f"<outline title={quoteattr(title)} xmlUrl={quoteattr(url)}/>"


def _saved(folder: Path, content: str) -> str:
    file = folder / "saved.xml"
    file.write_text(content)
    return str(file)
