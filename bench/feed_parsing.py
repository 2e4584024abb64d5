"""Reading feeds: our reader compared with feedparser alone, on documents of the simulator."""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import feedparser

from fascicle.domain.feeds.feed import ParsedFeed
from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.sanitise import sanitised_article
from simulator.feeds.documents import CONTENT_TYPES, document
from simulator.feeds.edition import Edition
from simulator.feeds.newsroom import Newsroom
from simulator.feeds.prose import paragraphs
from simulator.feeds.records import EntrySpec, FeedSpec, Format

FORMATS: tuple[Format, ...] = ("rss20", "atom")
OURS, STORABLE = "ours", "ours, and everything made harmless"
ALONE, BARE = "feedparser alone", "feedparser alone, nothing made harmless or absolute"
_BASE = "http://127.0.0.1"
_ENTRIES = 40
_BYTES = 150_000


@dataclass(frozen=True)
class Document:
    url: str
    content_type: str
    body: bytes
    entries: int


@dataclass
class Pace:
    documents: int = 0
    size: int = 0
    seconds: float = 0.0

    @property
    def milliseconds(self) -> float:
        return 1000 * self.seconds / self.documents

    @property
    def megabytes_per_second(self) -> float:
        return self.size / 1e6 / self.seconds


@dataclass
class Parsing:
    documents: list[Document]
    paces: dict[str, Pace] = field(default_factory=dict)

    def ratio(self, ours: str, theirs: str) -> float:
        """How many times as fast as theirs ours is."""
        return self.paces[theirs].seconds / self.paces[ours].seconds


def measure_parsing(seconds: float) -> Parsing:
    """Measure processor time in turns, so that other load on the machine disturbs all readers alike."""
    parsing = Parsing([_document(format_) for format_ in FORMATS])
    readers: dict[str, Callable[[Document], object]] = {
        OURS: _ours,
        STORABLE: lambda document: _harmless(_ours(document)),
        ALONE: _alone,
        BARE: _bare,
    }
    parsing.paces = {name: Pace() for name in readers}
    _check_agreement(parsing.documents)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for document_ in parsing.documents:
            for name, read in readers.items():
                begun = time.process_time()
                read(document_)
                pace = parsing.paces[name]
                pace.seconds += time.process_time() - begun
                pace.size += len(document_.body)
                pace.documents += 1
    return parsing


def _document(format_: Format) -> Document:
    """A feed of full articles with links and pictures, as many blogs have."""
    newsroom = Newsroom()
    newsroom.add_feed(FeedSpec(name="blog", title="A Blog", format=format_, window=_ENTRIES))
    words = 10
    while True:
        newsroom.add_entries("blog", [_article(number, words) for number in range(_ENTRIES)])
        feed = newsroom.feed("blog")
        body = document(Edition(feed, _BASE, newsroom.listed("blog")))
        if len(body) >= _BYTES:
            return Document(f"{_BASE}{feed.path}", CONTENT_TYPES[format_], body, _ENTRIES)
        words = round(words * max(1.02, _BYTES / len(body)))


def _article(number: int, words: int) -> EntrySpec:
    picture = f'<p><img src="/pictures/{number}.jpg" alt=""> <a href="/about?n={number}">More</a></p>'
    text = "".join(f"<p>{part}</p>" for part in paragraphs("en", words, str(number)))
    return EntrySpec(title=f"Article {number}", text=picture + text, tags=("stories", "weather"))


def _ours(document_: Document) -> ParsedFeed:
    return parse_feed(document_.body, url=document_.url, content_type=document_.content_type)


def _harmless(feed: ParsedFeed) -> list[str | None]:
    return [
        sanitised_article(text) for entry in feed.entries for text in (entry.summary, entry.content) if text
    ]


def _alone(document_: Document) -> object:
    headers = {"content-type": document_.content_type}
    return feedparser.parse(io.BytesIO(document_.body), response_headers=headers)


def _bare(document_: Document) -> object:
    headers = {"content-type": document_.content_type}
    return feedparser.parse(
        io.BytesIO(document_.body), response_headers=headers, sanitize_html=False, resolve_relative_uris=False
    )


def _check_agreement(documents: list[Document]) -> None:
    for document_ in documents:
        ours, theirs = _ours(document_), feedparser.parse(io.BytesIO(document_.body))
        if [e.title for e in ours.entries] != [e.title for e in theirs.entries] or not ours.entries:
            raise SystemExit(f"{document_.content_type}: we and feedparser read different entries")
