"""Feeds (I1–I7): the contents of a document, and the states of subscriptions and items."""

from enum import StrEnum

from pydantic import BaseModel

from fascicle.domain.instants import Instant

# The reason why a feed without an active reader rests; it resumes by itself when it has one again.
NOBODY_READS = "nobody reads it at the moment"


class FeedKind(StrEnum):
    """The kind of a feed as people see it. The exact format (`rss20`, `atom10` …) is kept separately."""

    RSS = "rss"
    RDF = "rdf"
    ATOM = "atom"
    JSON = "json"
    YOUTUBE = "youtube"
    PODCAST = "podcast"


class SubscriptionState(StrEnum):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    UNSUBSCRIBED = "UNSUBSCRIBED"


class ItemState(StrEnum):
    INBOX = "INBOX"
    BOOKMARKED = "BOOKMARKED"
    ARCHIVED = "ARCHIVED"


class Entry(BaseModel):
    """One entry of a feed. The parsing process sanitises its HTML as the last step."""

    key: str
    """Its id within the feed: unique in the document, the same at every reading of it."""
    guid: str | None = None
    """The id as the feed gives it, however useless."""
    url: str | None = None
    title: str = ""
    summary: str | None = None
    """HTML, as `content`."""
    content: str | None = None
    author: str | None = None
    published_at: Instant = None
    updated_at: Instant = None
    language: str | None = None
    image_url: str | None = None
    media_url: str | None = None
    media_type: str | None = None
    duration_seconds: int | None = None
    categories: list[str] = []
    provider: str | None = None
    """The provider of `provider_item_id`: `youtube`, `podcast`; None: the item has only its address."""
    provider_item_id: str | None = None
    content_hash: str = ""
    """The hash of the feed's own words, before sanitising: a change of our sanitiser is not an edit."""


class ParsedFeed(BaseModel):
    kind: FeedKind
    format: str
    title: str = ""
    site_url: str | None = None
    description: str | None = None
    language: str | None = None
    image_url: str | None = None
    moved_to: str | None = None
    """`itunes:new-feed-url`."""
    ttl_seconds: int | None = None
    entries: list[Entry] = []
    entries_total: int = 0
    """The number of entries in the document; `entries` may hold fewer."""
    skipped: int = 0
    """Entries with nothing in them: no id, no address, no words."""
    note: str = ""
    """The parts that were left out, and why; for people."""


class FeedLink(BaseModel):
    """A feed that a page points at."""

    url: str
    title: str = ""
    type: str = ""
