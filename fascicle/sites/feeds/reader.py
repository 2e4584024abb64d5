"""Feeds read by a parsing process."""

from fascicle.domain.errors import PermanentError
from fascicle.domain.feeds.feed import Entry, FeedLink, ParsedFeed
from fascicle.sandbox import Reading, Sandbox
from fascicle.sandbox.limits import CRASHED, TIMEOUT

_ENTRY_OF_A_LETTER = "the entry of a dead letter"


class FeedReader:
    def __init__(self, sandbox: Sandbox, *, max_entries: int = 5000) -> None:
        self._sandbox = sandbox
        self._max_entries = max_entries

    async def read(self, body: bytes, *, url: str, content_type: str | None = None) -> ParsedFeed:
        """The feed with harmless HTML; a PermanentError if it is no feed or takes too much time or memory.

        If the HTML of its entries takes too much, the entries are reduced to plain text.
        """
        try:
            return await self._read(body, url, content_type)
        except PermanentError as error:
            if error.code not in (CRASHED, TIMEOUT):
                raise
            return await self._read(body, url, content_type, plain=error.message)

    async def _read(self, body: bytes, url: str, content_type: str | None, plain: str = "") -> ParsedFeed:
        return await self._sandbox.read(
            Reading.FEED,
            body,
            ParsedFeed,
            place=url,
            url=url,
            content_type=content_type,
            max_entries=self._max_entries,
            plain=plain,
        )

    async def harmless(self, entry: Entry) -> Entry:
        """An unsanitised entry from a dead letter, with harmless HTML."""
        body = entry.model_dump_json().encode()
        return await self._sandbox.read(Reading.FEED_ENTRY, body, Entry, place=_ENTRY_OF_A_LETTER)

    async def links(self, page: bytes, *, url: str) -> list[FeedLink]:
        """Feeds that the page at `url` links to, the best first."""
        return await self._sandbox.read(Reading.FEED_LINKS, page, list[FeedLink], place=url, url=url)

    async def channels(self, page: bytes, *, url: str) -> list[str]:
        """The ids of the channels that a page of YouTube names, its own first."""
        return await self._sandbox.read(Reading.YOUTUBE_CHANNELS, page, list[str], place=url)
