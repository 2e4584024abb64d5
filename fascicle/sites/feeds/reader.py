"""Feeds read off the event loop, in processes that a hostile feed may wear out."""

import asyncio
from functools import partial
from types import TracebackType
from typing import Self

from fascicle.domain.errors import PermanentError
from fascicle.domain.feed import ParsedFeed
from fascicle.domain.urls import place
from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.feeds.process import CHILD, Children, Gone

_TRIES = 2


class FeedReader:
    """Reads in child processes, which start with the first feed; in a thread if there are to be none."""

    def __init__(
        self, processes: int, *, max_entries: int = 5000, longest_seconds: float = 60, child: str = CHILD
    ) -> None:
        self._children = Children(processes, child) if processes else None
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
        return self._children.pids if self._children else []

    async def read(self, body: bytes, *, url: str, content_type: str | None = None) -> ParsedFeed:
        """The feed; a PermanentError where it is none, takes too long or too much memory."""
        try:
            if self._children is None:
                return await self._in_thread(body, url, content_type)
            return await self._in_child(self._children, body, url, content_type)
        except TimeoutError:
            raise PermanentError(
                "parser_timeout",
                f"{place(url)} cannot be read: its {len(body)} bytes took longer than {self._seconds:g} s.",
            ) from None

    async def close(self) -> None:
        """Ends all processes at once; who waits for one gets a retryable error."""
        if self._children:
            await self._children.close()

    async def _in_thread(self, body: bytes, url: str, content_type: str | None) -> ParsedFeed:
        read = partial(parse_feed, body, url=url, content_type=content_type, max_entries=self._max_entries)
        async with asyncio.timeout(self._seconds):
            return await asyncio.to_thread(read)

    async def _in_child(
        self, children: Children, body: bytes, url: str, content_type: str | None
    ) -> ParsedFeed:
        request = {"url": url, "content_type": content_type, "max_entries": self._max_entries}
        for _ in range(_TRIES):
            try:
                payload = await children.read(body, request, self._seconds)
            except Gone:
                continue
            return await asyncio.to_thread(ParsedFeed.model_validate_json, payload)
        raise PermanentError(
            "parser_crashed",
            f"{place(url)} cannot be read: its {len(body)} bytes end the process that reads them.",
        )
