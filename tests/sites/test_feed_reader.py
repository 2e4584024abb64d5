"""I6: a feed that wears its process out harms no other, and nothing is left behind."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import psutil
import pytest

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.sites import idle_children
from fascicle.sites.feeds import FeedReader
from tests.sites.feed_probe import DIE, HANG

URL = "https://example.org/feed?token=secret"
FEED = b"<rss version='2.0'><channel><title>News</title><item><guid>1</guid></item></channel></rss>"
CHILD = "tests.sites.feed_probe"


@pytest.fixture
async def reader() -> AsyncIterator[FeedReader]:
    async with FeedReader(1, longest_seconds=60, child=CHILD) as opened:
        yield opened


async def test_i6_reading_in_a_thread_and_in_a_process_is_the_same(reader: FeedReader) -> None:
    async with FeedReader(0) as threaded:
        in_thread = await threaded.read(FEED, url=URL)
        assert threaded.pids == []
    assert reader.pids == []
    assert await reader.read(FEED, url=URL, content_type="text/xml") == in_thread
    with pytest.raises(PermanentError, match="an HTML page") as caught:
        await reader.read(b"<html>", url=URL)
    assert caught.value.code == "not_a_feed"
    first = reader.pids
    assert (await reader.read(FEED, url=URL)).title == "News"
    assert reader.pids == first
    await reader.close()
    assert not any(psutil.pid_exists(pid) for pid in first)
    with pytest.raises(RetryableError) as refused:
        await reader.read(FEED, url=URL)
    assert refused.value.code == "shutting_down"


async def test_i6_a_feed_that_ends_its_process_is_tried_once_more(reader: FeedReader) -> None:
    assert (await reader.read(FEED, url=URL)).title == "News"
    os.kill(reader.pids[0], signal.SIGKILL)
    assert (await reader.read(FEED, url=URL)).title == "News"
    with pytest.raises(PermanentError) as caught:
        await reader.read(DIE, url=URL)
    assert caught.value.code == "parser_crashed"
    assert "secret" not in caught.value.message
    assert reader.pids == []


async def test_i6_a_feed_that_takes_too_long_is_cut_off() -> None:
    async with FeedReader(1, longest_seconds=0.2, child=CHILD) as hasty:
        with pytest.raises(PermanentError) as caught:
            await hasty.read(HANG, url=URL)
        assert caught.value.code == "parser_timeout"
        assert hasty.pids == []


async def test_i6_closing_ends_a_feed_under_way(reader: FeedReader) -> None:
    reading = asyncio.create_task(reader.read(HANG, url=URL))
    while not reader.pids:
        await asyncio.sleep(0.01)
    pids = reader.pids
    await reader.close()
    with pytest.raises(RetryableError):
        await reading
    assert not any(psutil.pid_exists(pid) for pid in pids)


async def test_i6_a_process_that_nobody_needs_ends(
    reader: FeedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_children, "IDLE_SECONDS", 0.2)
    await reader.read(FEED, url=URL)
    [pid] = reader.pids
    async with asyncio.timeout(10):
        while psutil.pid_exists(pid):
            await asyncio.sleep(0.05)
    assert reader.pids == []
    assert (await reader.read(FEED, url=URL)).title == "News"
