"""Feeds and their entries: the specs that create them, and the stored records."""

import base64
import hashlib
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from simulator.specs import Moment

Format = Literal["rss20", "rss091", "rdf", "atom", "json", "youtube", "podcast"]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=80)]


class FeedPatch(BaseModel):
    """A feed; in a change, only the fields that are set count.

    `guid` is how entries are identified: an id of their own, their link, nothing, or one id for all of them.
    A new `guid_prefix` changes every id at once; a new `link_base` moves every link (a site migration).
    `dated` False leaves out the entries' dates. `window` is the number of newest entries that are listed.

    `redirect_to` is another feed's name or an absolute address. `gone` is 410, `status` any other status,
    `html` an error page that claims to be fine. `junk` comes before the document, `raw` replaces it.
    `declared_encoding` replaces the true `encoding` in the declaration; an empty one declares none. The
    document is padded to `body_bytes`.

    A YouTube feed's address has its `channel_id` (without one, derived from the name) or, if set, its
    `playlist_id`; its channel's page is at its `handle`. `new_feed_url` announces that a podcast has moved,
    and mirrors of one podcast share their `podcast_guid`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Format = "rss20"
    title: str = "A Feed"
    language: str = "en"
    ttl_minutes: Annotated[int, Field(ge=0)] | None = None
    cache_control: str | None = None
    etag: bool = True
    last_modified: bool = True
    guid: Literal["guid", "link", "none", "same"] = "guid"
    guid_prefix: str = ""
    link_base: str = ""
    dated: bool = True
    window: Annotated[int, Field(ge=0)] = 20
    redirect_to: str | None = None
    redirect_status: Literal[301, 302, 303, 307, 308] = 301
    gone: bool = False
    status: Annotated[int, Field(ge=200, le=599)] | None = None
    html: bool = False
    junk: str = ""
    encoding: Literal["utf-8", "iso-8859-1", "utf-16"] = "utf-8"
    declared_encoding: str | None = None
    content_type: str | None = None
    raw: str | None = None
    body_bytes: Annotated[int, Field(ge=0)] | None = None
    channel_id: str | None = None
    playlist_id: str | None = None
    handle: str | None = None
    podcast_guid: str | None = None
    new_feed_url: str | None = None


class FeedSpec(FeedPatch):
    name: Name


class Feed(FeedSpec):
    created_at: Moment
    changed_at: Moment
    """At least one second after the previous change, since HTTP dates have whole seconds."""
    entries_made: int = 0

    @property
    def channel(self) -> str:
        return self.channel_id or f"UC{_letters(f'channel {self.name}', 22)}"

    @property
    def path(self) -> str:
        """The path of the feed's document."""
        if self.format != "youtube":
            return f"/feeds/{self.name}"
        wanted = f"playlist_id={self.playlist_id}" if self.playlist_id else f"channel_id={self.channel}"
        return f"/youtube/feeds/videos.xml?{wanted}"


class EntrySpec(BaseModel):
    """An entry; in a change, only the fields that are set count.

    `text` is HTML. `link` is an absolute address, or a path on the simulator such as another entry's page.
    Without `published_at`, it is published now. `duration` is in seconds, or text as podcasts write it.
    `image` is in the feed; without one, only the page has an image. `words` is the length of the page's text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = "Untitled"
    text: str = "<p>Something has happened.</p>"
    link: str | None = None
    guid: str | None = None
    published_at: Moment | None = None
    updated_at: Moment | None = None
    author: str = "An Author"
    image: str | None = None
    duration: Annotated[int, Field(ge=0)] | str | None = None
    audio: str | None = None
    tags: tuple[str, ...] = ()
    words: Annotated[int, Field(ge=0)] = 240
    video_id: str | None = None


class EntryPatch(EntrySpec):
    pass


class FeedEntry(EntrySpec):
    id: int
    feed: str
    published_at: Moment
    video_id: str

    @property
    def path(self) -> str:
        """The path of its page, below the prefix of its site."""
        return f"/{self.feed}/{self.id}"

    @property
    def changed_at(self) -> datetime:
        return self.updated_at or self.published_at


def derived_video_id(feed: str, entry_id: int) -> str:
    return _letters(f"video {feed} {entry_id}", 11)


def _letters(name: str, count: int) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()).decode()[:count]


class Saved(BaseModel):
    feeds: dict[str, Feed] = {}
    entries: dict[str, dict[int, FeedEntry]] = {}
