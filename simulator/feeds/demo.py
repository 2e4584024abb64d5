"""The demo's feeds: a webcomic's blog, a podcast that talks about it, a YouTube channel."""

from datetime import timedelta

from simulator.feeds.newsroom import Newsroom
from simulator.feeds.records import EntrySpec, FeedSpec

BLOG = "paper-lantern"
PODCAST = "gutter-talk"
CHANNEL = "panel-by-panel"
FEEDS = (
    FeedSpec(name=BLOG, format="atom", title="Paper Lantern, the webcomic"),
    FeedSpec(name=PODCAST, format="podcast", title="Gutter Talk"),
    FeedSpec(name=CHANNEL, format="youtube", title="Panel by Panel", handle="panelbypanel"),
)
ENTRIES_AT_FIRST = 4
ENTRIES_IN_ALL = 60

_SUBJECTS = """The Lighthouse in the Rain
Two Kettles and a Map
The Ferryman's Umbrella
A Door Without a House
Letters for Nobody
The Night Tram Again
Snow on the Drawing Board
The Cat Who Kept Accounts
One Lamp Too Many
A Short Walk Around the Lake""".splitlines()


def add_demo_feeds(newsroom: Newsroom) -> None:
    """Add the demo's feeds with a few entries each; the newest are two hours old."""
    with newsroom.changing():
        for spec in FEEDS:
            newsroom.add_feed(spec)
        for number in range(1, ENTRIES_AT_FIRST + 1):
            at = newsroom.now() - timedelta(days=3 * (ENTRIES_AT_FIRST - number), hours=2)
            for spec in FEEDS:
                entry = _entry(spec.name, number).model_copy(update={"published_at": at})
                newsroom.add_entry(spec.name, entry)


def publish_next(newsroom: Newsroom) -> None:
    """Add the demo's next entry, to each feed in turn; nothing if it has no feeds or they are full."""
    with newsroom.changing():
        ours = {spec.name for spec in FEEDS}
        feeds = [feed for feed in newsroom.feeds() if feed.name in ours]
        if feeds and sum(feed.entries_made for feed in feeds) < ENTRIES_IN_ALL:
            shortest = min(feeds, key=lambda feed: feed.entries_made)
            newsroom.add_entry(shortest.name, _entry(shortest.name, shortest.entries_made + 1))


def _entry(name: str, number: int) -> EntrySpec:
    write = {BLOG: _post, PODCAST: _episode, CHANNEL: _video}[name]
    return write(number, _SUBJECTS[(number - 1) % len(_SUBJECTS)])


def _post(number: int, subject: str) -> EntrySpec:
    return EntrySpec(
        title=f"Page {number}: {subject}",
        text=f"<p>A new page, <em>{subject}</em>, and a few words on how it was drawn.</p>",
        author="Mio Harrowgate",
        tags=("webcomic",),
        words=180 + 40 * (number % 5),
    )


def _episode(number: int, subject: str) -> EntrySpec:
    """Every second episode links to the blog's page that it talks about."""
    return EntrySpec(
        title=f"Episode {number}: we read “{subject}”",
        text=f"<p>Two readers, one page: {subject}.</p>",
        link=f"/feeds/{BLOG}/{number}" if number % 2 == 0 else None,
        author="Ilse and Pax",
        duration=f"{20 + number % 20}:07",
    )


def _video(number: int, subject: str) -> EntrySpec:
    return EntrySpec(
        title=f"How “{subject}” was inked",
        text=f"From pencils to paper, part {number}.",
        author="Panel by Panel",
        duration=253 + number,
    )
