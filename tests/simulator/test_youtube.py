import httpx
import pytest

from simulator.feeds import EntrySpec, FeedSpec
from simulator.server import RunningSimulator
from tests.simulator.reading import head, parsed

VIDEO = "dQw4-9Wg_cQ"


@pytest.fixture
def tube(simulator: RunningSimulator) -> str:
    """The simulated YouTube with one channel and its video, which is in a playlist too."""
    feeds = simulator.feeds
    feeds.add_feed(FeedSpec(name="ann", format="youtube", title="Ann", channel_id="UCann", handle="AnnDraws"))
    feeds.add_feed(FeedSpec(name="best", format="youtube", title="Best of", playlist_id="PLbest"))
    for name in ("best", "ann"):
        feeds.add_entry(name, EntrySpec(title="Inking", video_id=VIDEO, duration=253))
    return simulator.site_url("youtube")


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("channel_id=UCann", "Ann"),
        ("user=anndraws", "Ann"),
        ("playlist_id=UUann", "Ann"),
        ("playlist_id=PLbest", "Best of"),
        ("channel_id=UCbob", None),
        ("playlist_id=PLnone", None),
        ("", None),
    ],
)
def test_youtubes_feeds(tube: str, http: httpx.Client, query: str, title: str | None) -> None:
    answer = http.get(f"{tube}/feeds/videos.xml?{query}")
    if title is None:
        assert answer.status_code == 404
        return
    document = parsed(answer)
    (video,) = document.entries
    assert (document.feed.title, video.yt_videoid, video.id) == (title, VIDEO, f"yt:video:{VIDEO}")
    assert video.link == f"{tube}/watch?v={VIDEO}"
    assert http.get(str(answer.url), headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_youtubes_pages(tube: str, http: httpx.Client, simulator: RunningSimulator) -> None:
    for page in ("@AnnDraws", "@anndraws", "channel/UCann", "c/AnnDraws", "user/anndraws"):
        said = head(http.get(f"{tube}/{page}"))
        assert (said["alternate"], said["identifier"]) == (simulator.feed_url("ann"), "UCann")
    assert http.get(f"{tube}/@nobody").status_code == 404
    said = head(http.get(f"{tube}/watch?v={VIDEO}"))
    assert (said["og:title"], said["duration"], said["channelId"]) == ("Inking", "PT4M13S", "UCann")
    missing = http.get(f"{tube}/watch?v=aaaaaaaaaaa")
    assert (missing.status_code, head(missing)) == (200, {})


@pytest.mark.parametrize(
    ("url", "status"),
    [
        (f"https://www.youtube.com/watch?v={VIDEO}", 200),
        (f"https://youtu.be/{VIDEO}?t=3", 200),
        ("https://www.youtube.com/watch?v=aaaaaaaaaaa", 404),
        ("https://www.youtube.com/", 400),
    ],
)
def test_youtube_embeds_its_videos(tube: str, http: httpx.Client, url: str, status: int) -> None:
    answer = http.get(f"{tube}/oembed", params={"url": url, "format": "json"})
    assert answer.status_code == status
    if status == 200:
        content = answer.json()
        assert (content["title"], content["author_name"], content["type"]) == ("Inking", "Ann", "video")


@pytest.mark.parametrize(
    ("site", "url", "status"),
    [
        ("spotify", "https://open.spotify.com/episode/1", 200),
        ("spotify", "https://open.spotify.com/episode/2", 404),
        ("soundcloud", "https://open.spotify.com/episode/1", 404),
        ("soundcloud", "https://soundcloud.com/ann/one", 200),
    ],
)
def test_other_services_embed_what_entries_lead_to(
    simulator: RunningSimulator, http: httpx.Client, site: str, url: str, status: int
) -> None:
    links = ("https://open.spotify.com/episode/1", "https://soundcloud.com/ann/one")
    simulator.feeds.add_feed(FeedSpec(name="blog"))
    simulator.feeds.add_entries("blog", [EntrySpec(title="Talk", link=link) for link in links])
    answer = http.get(f"{simulator.site_url(site)}/oembed", params={"url": url})
    assert answer.status_code == status
    if status == 200:
        assert answer.json()["provider_name"].lower() == site
        assert {"title", "thumbnail_url", "html"} < answer.json().keys()
