"""A feed as one request sees it: its entries, and addresses with the request's host."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from simulator.feeds.records import Feed, FeedEntry


@dataclass(frozen=True)
class Edition:
    feed: Feed
    base: str
    """Scheme and host of the request."""
    entries: Sequence[FeedEntry] = ()

    @property
    def address(self) -> str:
        return f"{self.base}{self.feed.path}"

    @property
    def home(self) -> str:
        if self.feed.format == "youtube":
            return f"{self._links}/channel/{self.feed.channel}"
        return f"{self._links}/{self.feed.name}/page"

    @property
    def updated_at(self) -> datetime:
        return max((entry.changed_at for entry in self.entries), default=self.feed.created_at)

    def link(self, entry: FeedEntry) -> str:
        if entry.link is not None:
            return f"{self.base}{entry.link}" if entry.link.startswith("/") else entry.link
        if self.feed.format == "youtube":
            return f"{self._links}/watch?v={entry.video_id}"
        return f"{self._links}{entry.path}"

    def guid(self, entry: FeedEntry) -> str | None:
        match self.feed.guid:
            case "none":
                return None
            case "link":
                return self.link(entry)
            case "same":
                return f"{self.feed.guid_prefix}{self.feed.name}"
            case "guid":
                return f"{self.feed.guid_prefix}{entry.guid or f'{self.feed.name}-{entry.id}'}"

    def picture(self, entry: FeedEntry) -> str:
        """The picture of the entry's page, which always has one."""
        return entry.image or f"{self.base}/feeds{entry.path}/cover.svg"

    def audio(self, entry: FeedEntry) -> str:
        return entry.audio or f"{self.base}/feeds{entry.path}/audio.mp3"

    @property
    def _links(self) -> str:
        site = "youtube" if self.feed.format == "youtube" else "feeds"
        return self.feed.link_base or f"{self.base}/{site}"
