"""X1: every parser of strangers' HTML against shapes that took the worker with them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import psutil
import pytest

from fascicle.domain.errors import FascicleError
from fascicle.domain.feeds.feed import Entry, FeedLink, ParsedFeed
from fascicle.domain.feeds.item_page import PageReading
from fascicle.domain.fics.fic import FicCode, FicKind, FicRef
from fascicle.domain.series.chapter import LatestEntry, LatestPage, ListingPage, Upload
from fascicle.domain.summaries.article import Article
from fascicle.sandbox import Reading, Sandbox
from fascicle.sites.declarative.files import read_description
from fascicle.sites.declarative.page_read import PageRead
from fascicle.sites.feeds.reader import FeedReader
from fascicle.sites.fic import read_archive_page
from tests.harness import ADAPTERS
from tests.hostile.markup_shapes import SHAPES, feed_of, formatting
from tests.sites.ao3_pages import work_page

URL = "https://strangers.example/page"
WORK = FicRef(site="ao3", kind=FicKind.WORK, id="12", url="https://archiveofourown.org/works/12")
# What each of these readings may answer instead of a result.
NAMED = {"parser_crashed", "parser_timeout", "bad_answer", "not_a_feed", "not_an_article", "too_short"}
NAMED |= {"adapter_broken", *FicCode}
_PARENT_GROWS = 64 << 20
# CPU time of the event loop's own thread: what else the machine does, does not matter.
_LONGEST_TURN = 0.5

Read = Callable[[str], Awaitable[Any]]


def readings(sandbox: Sandbox) -> dict[str, Read]:
    """Each reading, given a shape where a stranger would put it."""
    about = read_description(ADAPTERS / "inkpages.yaml").model_dump_json(by_alias=True, exclude_none=True)
    page: dict[str, Any] = {"place": URL, "url": URL, "status": 200, "about": about}
    rows = {**page, "file": "inkpages.yaml", "cursor": None}
    weeb: dict[str, Any] = {"place": URL, "where": URL, "status": 200}
    plain: dict[str, Any] = {"place": URL, "url": URL}
    item: dict[str, Any] = {
        "content_type": "text/html",
        "with_text": True,
        "declared_language": None,
        "feed_text": "",
    }

    def of(reading: Reading, answer: type[Any], before: str = "<html><body>", **request: Any) -> Read:
        return lambda html: sandbox.read(reading, (before + html).encode(), answer, **request)

    entry = Entry(key="1")
    return {
        "feed": lambda html: FeedReader(sandbox).read(feed_of("<p>good</p>", html), url=URL),
        "raw feed": of(Reading.FEED, ParsedFeed, "<rss version='2.0'><channel><item><title>", **plain),
        "letter": lambda html: FeedReader(sandbox).harmless(entry.model_copy(update={"content": html})),
        "discovery": of(Reading.FEED_LINKS, list[FeedLink], **plain),
        "channel": of(Reading.YOUTUBE_CHANNELS, list[str], place=URL),
        "page": of(Reading.PAGE, PageReading, **plain, **item),
        "article": of(Reading.ARTICLE, Article, **plain),
        "ao3": lambda html: read_archive_page(sandbox, WORK, work_page(summary=html)),
        "weebcentral series": of(Reading.WEEBCENTRAL_SERIES, str, "<section><h1>T</h1>", **weeb),
        "weebcentral list": of(Reading.WEEBCENTRAL_CHAPTERS, ListingPage, "<a href='#top'>", **weeb),
        "weebcentral latest": of(Reading.WEEBCENTRAL_LATEST, LatestPage, number=2, **weeb),
        "adapter series": of(Reading.ADAPTER_SERIES, str, "<h1 class=comic-title>T</h1>", **page),
        "adapter list": of(
            Reading.ADAPTER_CHAPTERS, PageRead[Upload], "<ol class=chapters></ol>", base=URL, **rows
        ),
        "adapter latest": of(
            Reading.ADAPTER_LATEST, PageRead[LatestEntry], "<ul class=updates></ul>", **rows
        ),
    }


@pytest.mark.parametrize("name", readings(Sandbox(1)))
async def test_x1_no_shape_wears_out_more_than_the_process_that_parses_it(
    sandbox: Sandbox, name: str
) -> None:
    read, us = readings(sandbox)[name], psutil.Process()
    turns = [time.thread_time()]
    watching = asyncio.create_task(_note_turns(turns))
    before = us.memory_info().rss
    for shape, html in SHAPES.items():
        assert await _code(read(html)) in {None, *NAMED}, shape
    grown = us.memory_info().rss - before
    watching.cancel()
    turns.append(time.thread_time())
    assert grown < _PARENT_GROWS, f"{grown:,} bytes stay in the parent"
    longest = max(later - earlier for earlier, later in pairwise(turns))
    assert longest < _LONGEST_TURN, f"the event loop worked for {longest:.2f} s without a pause"


async def test_x1_only_the_hostile_entry_of_a_feed_is_cut_to_its_words(sandbox: Sandbox) -> None:
    good = '<p>A <a href="https://e.example/a">link</a> &amp; <b>words</b></p>'
    body = feed_of(good, formatting(9_000, 12_000), good)
    feed = await FeedReader(sandbox).read(body, url=URL)
    first, hostile, last = (entry.summary or "" for entry in feed.entries)
    assert first == last
    assert '<a href="https://e.example/a" rel="noopener noreferrer nofollow">link</a>' in first
    assert hostile.startswith("x x x")
    assert len(hostile) <= 5_000
    assert "<" not in hostile
    assert feed.note == "1 entry cut to plain text: its HTML would grow beyond measure"


async def test_x1_a_feed_whose_entries_end_the_process_is_read_without_their_markup() -> None:
    """What no guard knows: here the process may not use enough memory for any HTML."""
    body = feed_of("<p>A <b>word</b></p>", "<p>&lt;b&gt; &amp;c</p>")
    async with Sandbox(1, child="tests.hostile.fragile") as fragile:
        feed = await FeedReader(fragile).read(body, url=URL)
    assert [entry.summary for entry in feed.entries] == ["A word", "&lt;b&gt; &amp;c"]
    assert feed.note.startswith(
        "2 entries cut to plain text: https://strangers.example/page cannot be read ("
    )
    assert "SIGABRT" in feed.note


async def _code(reading: Awaitable[Any]) -> str | None:
    """Of the error that the document gets; None: it was read."""
    try:
        await reading
    except FascicleError as error:
        return error.code
    return None


async def _note_turns(turns: list[float]) -> None:
    while True:
        await asyncio.sleep(0.002)
        turns.append(time.thread_time())
