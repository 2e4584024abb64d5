"""X1 on a running stack: a feed that took workers with it costs nobody else anything."""

from typing import Any

from simulator.feeds import EntrySpec, FeedSpec
from tests.hostile.markup_shapes import formatting
from tests.starter.commandline import child_pid, wait_until
from tests.starter.conftest import Running


def test_x1_a_hostile_entry_stops_neither_the_worker_nor_other_feeds(running: Running) -> None:
    running.fascicle("user", "add", "vera")
    worker = child_pid(running.desk.data, "worker")
    good = _subscribed(running, "wholesome", "<p>Good <b>news</b>.</p>")
    hostile = _subscribed(running, "poisonous", "<p>Good news, too.</p>", formatting(9_000, 12_000))
    assert (hostile["items"], hostile["circuit"]) == (2, "closed")
    assert hostile["note"] == "1 entry cut to plain text: its HTML would grow beyond measure"
    assert "cut to plain text" in running.fascicle("source", "show", hostile["id"]).said()
    running.simulator.feeds.add_entry("wholesome", EntrySpec(title="Later"))
    running.fascicle("source", "poll", good["id"])
    wait_until(lambda: _shown(running, good["id"])["items"] == 2, what="the good feed's next poll")
    assert _shown(running, good["id"])["note"] is None
    assert child_pid(running.desk.data, "worker") == worker


def _subscribed(running: Running, name: str, *texts: str) -> dict[str, Any]:
    """A feed of the simulator's with these entries, after its first reading."""
    feeds = running.simulator.feeds
    feeds.add_feed(FeedSpec(name=name, title=name))
    feeds.add_entries(name, [EntrySpec(title=f"{name} {n}", text=text) for n, text in enumerate(texts)])
    url = running.simulator.feed_url(name)
    added = running.json("feed", "subscribe", url, "--user", "vera")
    return _shown(running, added["source_id"])


def _shown(running: Running, source_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = running.json("source", "show", source_id)
    return shown
