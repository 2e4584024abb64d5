"""Feeds read off the event loop, in processes that a hostile feed may wear out."""

import asyncio
from functools import partial
from types import TracebackType
from typing import Self

from fascicle.domain.feed import ParsedFeed
from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.reading.readers import Readers, read_in_thread

CHILD = "fascicle.sites.feeds.child"


class FeedReader:
    """Reads in child processes, which start with the first feed; in a thread if there are to be none."""

    def __init__(
        self, processes: int, *, max_entries: int = 5000, longest_seconds: float = 60, child: str = CHILD
    ) -> None:
        self._readers = Readers(processes, child, longest_seconds=longest_seconds) if processes else None
        self._max_entries = max_entries
        self._seconds = longest_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pids(self) -> list[int]:
        """The processes that run at present."""
        return self._readers.pids if self._readers else []

    async def read(self, body: bytes, *, url: str, content_type: str | None = None) -> ParsedFeed:
        """The feed; a PermanentError where it is none, takes too long or too much memory."""
        if self._readers is None:
            return await self._in_thread(body, url, content_type)
        payload = await self._readers.read(
            body, url=url, content_type=content_type, max_entries=self._max_entries
        )
        return await asyncio.to_thread(ParsedFeed.model_validate_json, payload)

    async def close(self) -> None:
        """Ends all processes at once; who waits for one gets a retryable error."""
        if self._readers:
            await self._readers.close()

    async def _in_thread(self, body: bytes, url: str, content_type: str | None) -> ParsedFeed:
        read = partial(parse_feed, body, url=url, content_type=content_type, max_entries=self._max_entries)
        return await read_in_thread(read, body, url=url, seconds=self._seconds)
