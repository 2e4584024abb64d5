from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser

from simulator.client import ControlRefusedError, SimulatorControl
from simulator.faults import Fault
from simulator.feeds import EntryPatch, EntrySpec, FeedPatch, FeedSpec, Newsroom
from simulator.feeds.demo import BLOG, ENTRIES_IN_ALL, FEEDS, PODCAST, add_demo_feeds, publish_next
from simulator.feeds.newsroom import UnknownFeedError
from simulator.feeds.records import Format
from simulator.rate_limit import RateLimit
from simulator.server import RunningSimulator
from simulator.simulation import Simulation
from tests.simulator.reading import head, parsed

DAY = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
XML_FORMATS: tuple[Format, ...] = ("rss20", "rss091", "rdf", "atom", "youtube", "podcast")


@pytest.fixture
def news(simulator: RunningSimulator) -> Newsroom:
    """With a feed `blog` and nothing in it."""
    simulator.feeds.add_feed(FeedSpec(name="blog", title="Salt & <Ink>"))
    return simulator.feeds


@pytest.fixture
def read(simulator: RunningSimulator, http: httpx.Client) -> Any:
    def read_feed(name: str = "blog", **headers: str) -> httpx.Response:
        wanted = {key.replace("_", "-"): value for key, value in headers.items()}
        return http.get(simulator.feed_url(name), headers=wanted)

    return read_feed


@pytest.mark.parametrize("kind", XML_FORMATS)
def test_a_document_says_what_was_put_in(news: Newsroom, read: Any, kind: Format) -> None:
    news.change_feed("blog", FeedPatch(format=kind, language="de"))
    spec = EntrySpec(
        title="Öl & <Tinte>",
        text="<p>1 &lt; 2 &amp; <em>so on</em></p>",
        link="https://elsewhere.test/a?b=1&c=2",
        published_at=DAY,
        updated_at=DAY + timedelta(days=1),
        author="Ann",
        image="https://elsewhere.test/i.png?x=1&y=2",
        duration="07:04",
        audio="https://elsewhere.test/a.mp3",
        tags=("one & two",),
    )
    news.add_entries("blog", [spec, EntrySpec(title="Later")])
    document = parsed(read())
    assert not document.bozo
    assert document.feed.title == "Salt & <Ink>"
    later, entry = document.entries
    assert (later.title, entry.title, entry.link) == ("Later", spec.title, spec.link)
    assert entry.summary == spec.text
    if kind != "rss091":
        assert entry.updated_parsed[:3] == (2026, 3, 2)
    if kind not in ("rss091", "rdf"):
        assert entry.published_parsed[:5] == (2026, 3, 1, 9, 30)
        assert [picture["url"] for picture in entry.media_thumbnail] == [spec.image]
    if kind not in ("rss091", "youtube"):
        assert (entry.author, entry.id, document.feed.language) == ("Ann", "blog-1", "de")
        assert [tag.term for tag in entry.tags] == ["one & two"]


def test_a_podcast_has_what_players_need(news: Newsroom, read: Any) -> None:
    patch = FeedPatch(format="podcast", podcast_guid="p-1", new_feed_url="https://new.test/f", ttl_minutes=90)
    news.change_feed("blog", patch)
    news.add_entry("blog", EntrySpec(duration=424, audio="https://elsewhere.test/a.mp3"))
    document = parsed(read())
    assert (document.feed.podcast_guid, document.feed.ttl) == ("p-1", "90")
    assert document.feed["itunes_new-feed-url"] == "https://new.test/f"
    (entry,) = document.entries
    assert (entry.itunes_duration, entry.enclosures[0].href) == ("424", "https://elsewhere.test/a.mp3")


def test_a_json_feed(news: Newsroom, read: Any, simulator: RunningSimulator) -> None:
    news.change_feed("blog", FeedPatch(format="json"))
    news.add_entry("blog", EntrySpec(title="Öl", text="<p>x</p>", published_at=DAY, tags=("t",)))
    content = read().json()
    assert content["version"] == "https://jsonfeed.org/version/1.1"
    assert content["items"] == [
        {
            "id": "blog-1",
            "url": f"{simulator.url}/feeds/blog/1",
            "title": "Öl",
            "content_html": "<p>x</p>",
            "date_published": "2026-03-01T09:30:00+00:00",
            "authors": [{"name": "An Author"}],
            "tags": ["t"],
        }
    ]


@pytest.mark.parametrize(
    ("change", "ids"),
    [
        (FeedPatch(), ["blog-2", "1"]),
        (FeedPatch(guid_prefix="new:"), ["new:blog-2", "new:1"]),
        (FeedPatch(guid="same"), ["blog", "blog"]),
        (FeedPatch(guid="none"), [None, None]),
        (
            FeedPatch(guid="link", link_base="https://m.test"),
            ["https://m.test/blog/2", "https://m.test/blog/1"],
        ),
    ],
)
def test_what_entries_are_known_by(news: Newsroom, read: Any, change: FeedPatch, ids: list[str]) -> None:
    news.add_entries("blog", [EntrySpec(guid="1"), EntrySpec()])
    for kind in ("rss20", "atom", "json"):
        news.change_feed("blog", change.model_copy(update={"format": kind}))
        answer = read()
        entries = answer.json()["items"] if kind == "json" else parsed(answer).entries
        assert [entry.get("id") for entry in entries] == ids


def test_the_window_shows_the_newest(news: Newsroom, read: Any) -> None:
    days = [DAY + timedelta(days=n) for n in (5, 1, 3)]
    news.add_entries("blog", [EntrySpec(title=str(day.day), published_at=day) for day in days])
    news.change_feed("blog", FeedPatch(window=2, dated=False))
    entries = parsed(read()).entries
    assert [entry.title for entry in entries] == ["6", "4"]
    assert "published" not in entries[0]
    news.remove_entry("blog", 1)
    news.change_entry("blog", 3, EntryPatch(title="Edited"))
    assert [entry.title for entry in parsed(read()).entries] == ["Edited", "2"]


def test_an_unchanged_feed_is_not_sent_again(news: Newsroom, read: Any) -> None:
    news.change_feed("blog", FeedPatch(cache_control="max-age=60"))
    first = read()
    tag, date = first.headers["etag"], first.headers["last-modified"]
    assert first.headers["cache-control"] == "max-age=60"
    same = read(if_none_match=tag, if_modified_since=date)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert read(if_modified_since=date).status_code == 304
    news.add_entry("blog")
    assert read(if_none_match=tag, if_modified_since=date).status_code == 200
    assert read(if_modified_since=date).status_code == 200
    assert read(if_modified_since="yesterday").status_code == 200
    news.change_feed("blog", FeedPatch(etag=False, last_modified=False))
    assert not {"etag", "last-modified"} & set(read().headers)
    assert read(if_modified_since=date).status_code == 200


def test_a_feed_moves_ends_and_breaks(news: Newsroom, read: Any, simulator: RunningSimulator) -> None:
    news.add_feed(FeedSpec(name="new"))
    news.change_feed("blog", FeedPatch(redirect_to="new", redirect_status=308))
    moved = read()
    assert (moved.status_code, moved.headers["location"]) == (308, f"{simulator.url}/feeds/new")
    news.change_feed("blog", FeedPatch(redirect_to="http://10.0.0.1/"))
    assert read().headers["location"] == "http://10.0.0.1/"
    news.change_feed("blog", FeedPatch(redirect_to=None, html=True))
    assert (read().status_code, read().headers["content-type"][:9]) == (200, "text/html")
    for patch, status in ((FeedPatch(status=503), 503), (FeedPatch(gone=True), 410)):
        news.change_feed("blog", patch)
        assert read().status_code == status


def test_an_endless_redirect_never_names_an_address_twice(
    simulator: RunningSimulator, http: httpx.Client
) -> None:
    addresses = [f"{simulator.site_url('feeds')}/blog/endless"]
    for _ in range(3):
        addresses.append(http.get(addresses[-1]).headers["location"])
    assert len(set(addresses)) == 4


def test_flaws_of_documents(news: Newsroom, read: Any) -> None:
    news.add_entry("blog", EntrySpec(title="Ärger ☃"))
    for encoding in ("utf-8", "iso-8859-1", "utf-16"):
        news.change_feed("blog", FeedPatch(encoding=encoding))
        assert parsed(read()).entries[0].title == "Ärger ☃"
    news.change_feed("blog", FeedPatch(encoding="iso-8859-1", declared_encoding="utf-8", junk="\n<br>"))
    document = read().content
    assert document.startswith(b'\n<br><?xml version="1.0" encoding="utf-8"?>')
    assert "Ärger".encode("iso-8859-1") in document
    news.change_feed("blog", FeedPatch(declared_encoding="", junk="", body_bytes=5000))
    assert read().content.startswith(b'<?xml version="1.0"?>\n<rss')
    assert len(read().content) == 5000
    news.change_feed("blog", FeedPatch(raw="<rss", body_bytes=None, content_type="text/plain"))
    assert (read().content, read().headers["content-type"]) == (b"<rss", "text/plain")


def test_the_home_page_leads_to_the_feed(
    news: Newsroom, simulator: RunningSimulator, http: httpx.Client
) -> None:
    answer = http.get(f"{simulator.feed_url('blog')}/page")
    assert head(answer)["alternate"] == "../blog"
    assert str(answer.url.join("../blog")) == simulator.feed_url("blog")


def test_an_article_describes_itself(news: Newsroom, simulator: RunningSimulator, http: httpx.Client) -> None:
    news.change_feed("blog", FeedPatch(language="fr"))
    spec = EntrySpec(title="L'encre & l'</script>", words=75, published_at=DAY)
    address = f"{simulator.url}/feeds{news.add_entry('blog', spec).path}"
    answer = http.get(address)
    said = head(answer)
    tree = LexborHTMLParser(answer.text)
    assert (said["og:title"], said["og:site_name"]) == (spec.title, "Salt & <Ink>")
    assert said["article:published_time"] == "2026-03-01T09:30:00+00:00"
    assert said["canonical"] == address
    assert [tag.attributes["lang"] for tag in tree.css("html")] == ["fr"]
    assert sum(len(part.text().split()) for part in tree.css("article p:not(.byline)")) == 75
    assert len(tree.css("script")) == 1
    assert http.get(said["alternate"]).json()["title"] == spec.title
    assert http.get(said["og:image"]).headers["content-type"] == "image/svg+xml"
    assert http.get(f"{address}0").status_code == 404


def test_two_feeds_share_a_page(news: Newsroom, read: Any) -> None:
    shared = news.add_entry("blog")
    news.add_feed(FeedSpec(name="other"))
    news.add_entry("other", EntrySpec(link=f"/feeds{shared.path}"))
    links = [parsed(read(name)).entries[0].link for name in ("blog", "other")]
    assert links[0] == links[1]


def test_faults_limits_and_the_log_know_the_feeds(
    news: Newsroom, read: Any, simulator: RunningSimulator
) -> None:
    news.add_feed(FeedSpec(name="ann", format="youtube", channel_id="UCann"))
    for site in ("feeds", "youtube"):
        simulator.faults.add(Fault(path=f"/{site}/", status=429, retry_after=7, count=1))
    for name in ("blog", "ann"):
        refused = read(name)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
        assert read(name).status_code == 200
    simulator.rate_limits.set(RateLimit(path="/feeds/", requests_per_second=0.001))
    assert [read().status_code for _ in range(2)] == [200, 429]
    logged = simulator.requests.matching("/youtube/")
    assert [(entry.query, entry.status) for entry in logged] == [
        ("channel_id=UCann", 429),
        ("channel_id=UCann", 200),
    ]


async def test_feeds_are_scripted_from_another_process(simulator: RunningSimulator) -> None:
    async with SimulatorControl(simulator.url) as control:
        remote = control.feeds
        await remote.add_feed(FeedSpec(name="a", title="A"))
        assert (await remote.change_feed("a", FeedPatch(ttl_minutes=3))).title == "A"
        one, two = await remote.add_entries("a", [EntrySpec(title="1"), EntrySpec(published_at=DAY)])
        assert (await remote.add_entry("a")).id == 3
        assert (await remote.change_entry("a", one.id, EntryPatch(words=9))).title == "1"
        await remote.remove_entry("a", two.id)
        assert await remote.entries("a") == simulator.feeds.entries("a")
        assert [feed.ttl_minutes for feed in await remote.feeds()] == [3]
        for refused, reason in (
            (remote.add_feed(FeedSpec(name="a")), "422 .*there is a feed a"),
            (remote.add_entry("b"), "404 .*no feed b"),
            (remote.remove_entry("a", two.id), "404 .*no entry 2"),
        ):
            with pytest.raises(ControlRefusedError, match=reason):
                await refused


def test_feeds_are_kept_in_their_file(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    feeds = Simulation.begin("empty", state).feeds
    feeds.add_feed(FeedSpec(name="a"))
    feeds.add_entries("a", [EntrySpec(duration="1:02"), EntrySpec(duration=3)])
    feeds.remove_entry("a", 2)
    again = Simulation.begin("empty", state)
    assert again.feeds.feed("a") == feeds.feed("a")
    assert again.feeds.entries("a") == feeds.entries("a")
    assert again.feeds.add_entry("a").id == 3
    again.reset()
    with pytest.raises(UnknownFeedError):
        Simulation.begin("empty", state).feeds.feed("a")


def test_the_demos_feeds_grow_up_to_a_bound() -> None:
    feeds = Newsroom()
    publish_next(feeds)
    assert feeds.feeds() == []
    add_demo_feeds(feeds)
    at_first = len(feeds.all_entries())
    for _ in range(ENTRIES_IN_ALL):
        publish_next(feeds)
    assert at_first < len(feeds.all_entries()) == ENTRIES_IN_ALL
    assert {feed.entries_made for feed in feeds.feeds()} == {ENTRIES_IN_ALL // len(FEEDS)}
    shared = {entry.link for entry in feeds.entries(PODCAST) if entry.link}
    assert shared
    assert shared <= {f"/feeds{entry.path}" for entry in feeds.entries(BLOG)}
