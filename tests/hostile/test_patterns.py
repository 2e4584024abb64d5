"""No text makes a pattern of the product slow: each runs over long hostile inputs within a bound of CPU time.

A pattern that takes the square of 20,000 characters needs seconds, a linear one a hundredth of the bound. The
timer counts the CPU time of this process alone: other programs on the machine do not matter.
"""

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from fascicle.domain.feeds.canonical_url import url_key
from fascicle.domain.feeds.item_words import count_words, lead_of
from fascicle.domain.fics.ship_tag import parse_tag
from fascicle.domain.plain_text import plain_line
from fascicle.domain.series.chapter_title import number_in_title
from fascicle.domain.summaries.extractive import extractive
from fascicle.sites.ao3.tree import id_in
from fascicle.sites.articles.kinds import kind_of_bytes
from fascicle.sites.articles.markdown import plain_lines
from fascicle.sites.articles.markup import Links
from fascicle.sites.feeds.document import prepared, without_prefix
from fascicle.sites.pages.text import text_of_html
from tests.hostile.pattern_corpus import Found, all_patterns, hostile_inputs, inline_uses

LENGTH = 20_000
CPU_SECONDS = 0.4

# Where the code hands over no more than so many characters, the square of them is nothing.
SHORT_INPUTS = {
    "fascicle.domain.summaries.article": 600,  # titles, the first and the last characters of a text
    "fascicle.domain.feeds.canonical_url": 2_100,
    "fascicle.domain.series.chapter_title": 500,
    "fascicle.domain.feeds.item_words._INVITATIONS": 500,
    "fascicle.domain.feeds.item_words._OPEN_END": 500,
    "fascicle.domain.feeds.item_words._ABBREVIATION": 12,
    "fascicle.domain.fics.ship_rule": 1_000,  # a tag is one plain line
    "fascicle.domain.fics.ship_tag": 1_000,
    "fascicle.sites.articles.kinds._ROOT": 5_000,
    "fascicle.sites.articles.trimming._TITLE_BAR": 500,
    "fascicle.sites.fanficfare.fic": 1_000,
}
# Patterns in collections: how those who walk through them use them.
METHODS = {
    "fascicle.domain.summaries.article_words": {"fullmatch"},
    "fascicle.domain.series.chapter_title": {"search", "sub"},
    "fascicle.domain.fics.fic_url": {"fullmatch"},
    "fascicle.imports.tachibk._SITES": {"fullmatch"},
    "fascicle.sites.feeds.youtube": {"fullmatch"},
    "fascicle.sites.pages.oembed": {"fullmatch"},
    "fascicle.sites.pages.values": {"fullmatch"},
}
# Patterns made while the program runs, and why no stranger's text can make them slow.
MADE_WHILE_RUNNING = {
    # Made by the functions that their modules call when they are imported.
    "fascicle.domain.summaries.article_words:any_of",
    "fascicle.domain.series.chapter_title:_places",
    "fascicle.domain.series.chapter_title:_volume",
    "fascicle.domain.fics.fic_url:_form",
    # Of at most 500 characters each, the title and the series' name.
    "fascicle.domain.series.chapter_title:_without_series",
    # A rule's own words, in a tag of at most 1000 characters.
    "fascicle.domain.fics.ship_tag:_with_compounds_joined",
    # See the tests below.
    "fascicle.sites.ao3.tree:id_in",
    "fascicle.sites.feeds.document:without_prefix",
    # A number that we asked for, in an address.
    "fascicle.sites.fic:_redirected",
    # The adapter's own patterns.
    "fascicle.sites.declarative.description:_checked_pattern",
    "fascicle.sites.declarative.pick:_checked_regex",
    "fascicle.sites.declarative.pick:refine",
    "fascicle.sites.declarative.site:recognise",
    # What our own settings and servers say.
    "fascicle.services.operations.postgres_programs:check_versions",
    "fascicle.services.operations.postgres_programs:version_in",
    "fascicle.settings.settings:_ed25519",
    "fascicle.settings.settings:fic_bases",
    "fascicle.temporal.client:_reason",
    "fascicle.settings.worker_settings:_no_dots",
}


class _TooSlowError(Exception):
    pass


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """The engine of patterns looks for signals while it works."""

    def stop(_: int, __: FrameType | None) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def longest_input(found: Found) -> int:
    bounds = [SHORT_INPUTS[start] for name in found.names for start in SHORT_INPUTS if name.startswith(start)]
    return min(bounds, default=LENGTH)


def methods_of(found: Found) -> set[str]:
    declared = {
        m for name in found.names for start in METHODS if name.startswith(start) for m in METHODS[start]
    }
    return found.methods or declared or {"search", "fullmatch"}


def use(pattern: re.Pattern[Any], method: str, text: Any) -> None:
    if method in ("sub", "subn"):
        getattr(pattern, method)("" if isinstance(text, str) else b"", text)
    elif method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)


def slow_inputs(found: Found, length: int | None = None) -> Iterator[str]:
    for text in hostile_inputs(found.pattern, length or longest_input(found)):
        for method in sorted(methods_of(found)):
            try:
                with cpu_limit(CPU_SECONDS):
                    use(found.pattern, method, text)
            except _TooSlowError:
                yield f"{sorted(found.names)[0]}.{method}({text[:20]!r}…)"
                return


def test_every_pattern_is_quick_on_long_hostile_texts() -> None:
    patterns = all_patterns()
    assert len(patterns) > 150
    assert [slow for found in patterns for slow in slow_inputs(found)] == []


def test_no_pattern_escapes_the_collection() -> None:
    assert inline_uses() == MADE_WHILE_RUNNING


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\S*(?:https?://|www\.)\S*", "sub"),
        (r"\s*(?:[-*_=]\s*){3,}|\s*\|?(?:\s*:?-{2,}:?\s*\|?)+", "fullmatch"),
        (r"^(\s*\d*)([-+.])(?=\s)(?m:)", "sub"),
        (r"</?[a-zA-Z][^<>]{0,2000}>|<!--.*?-->(?s:)", "sub"),
    ],
)
def test_the_bound_catches_what_was_slow(pattern: str, method: str) -> None:
    flags = re.MULTILINE if "?m:" in pattern else re.DOTALL
    # Longer than the product's patterns get, so that the quickest machine is not quick enough.
    assert list(slow_inputs(Found(re.compile(pattern, flags), {"old"}, {method}), 10 * LENGTH))


# What a worker's event loop does with strangers' texts, and functions that make their patterns themselves.
@pytest.mark.parametrize(
    ("work", "unit"),
    [
        (lambda text: extractive("t", text, "en"), "x"),
        (lambda text: extractive("t", text, "en"), "www"),
        (lambda text: extractive("t", text, None), "Aa "),
        (lambda text: extractive("t", text, None), '."'),
        (lambda text: extractive("t", text, None), "中"),
        (text_of_html, "<!--"),
        (text_of_html, "<p "),
        (text_of_html, "&amp"),
        (lead_of, "( "),
        (count_words, "a.'"),
        (plain_line, "<a <!--"),
        (lambda text: plain_lines(text, Links()), "- "),
        (lambda text: plain_lines(text + "x", Links()), "-"),
        (lambda text: plain_lines(text, Links()), "[]("),
        (lambda text: plain_lines(text, Links()), '![a](b "'),
        (lambda text: plain_lines(text, Links()), "> "),
        (lambda text: kind_of_bytes(text.encode()), "<!--x-->"),
        (lambda text: kind_of_bytes(text.encode()), "{ "),
        (lambda text: prepared(text), "<!DOCTYPE>"),
        (lambda text: prepared(text), "<!DOCTYPE[>"),
        (lambda text: without_prefix("<a:item>" + text), " xmlns:a = "),
        (lambda text: without_prefix("<a:item>" + text), " a:version "),
        (lambda text: id_in("/works/" + text, "works"), "0"),
        (lambda text: number_in_title(text, text[:400]), "[1"),
        (lambda text: parse_tag(text[:1000]), "one "),
        (lambda text: url_key("https://a.example/" + text[:2000]), "/amp"),
    ],
)
def test_work_over_strangers_texts_is_quick(work: Callable[[str], object], unit: str) -> None:
    with cpu_limit(2):
        work(unit * (60_000 // len(unit)))
