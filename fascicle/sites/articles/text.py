"""The main text of a page: trafilatura finds it after misleading markup was removed."""

import re
from copy import deepcopy
from dataclasses import dataclass, field

from fascicle.sites.articles.markup import Links, drop_asides_in_sentences, key_of, unfold_layout_tables
from fascicle.sites.articles.trimming import is_prose
from fascicle.sites.pages.main_text import extracted

# If the stricter extraction finds less than this share of the text, it has lost the article itself.
_LEAST_AGREEMENT = 0.5
_TAG = re.compile(r"<[a-zA-Z!/?]")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


@dataclass(frozen=True)
class MainText:
    lines: list[str] = field(default_factory=list)
    links: Links = field(default_factory=Links)


def main_text(html: str, url: str) -> MainText:
    """The page's paragraphs in their order, and its links. Blocks the thread."""
    # The import takes half a second, so it is done only where pages are read.
    from trafilatura.utils import load_html

    if not _TAG.search(html):
        return MainText(_paragraphs(html))
    tree = load_html(html)
    if tree is None:
        return MainText()
    unfold_layout_tables(tree)
    drop_asides_in_sentences(tree)
    lines = _lines(extracted(deepcopy(tree), url))
    strict = _lines(extracted(deepcopy(tree), url, favor_precision=True))
    return MainText(_agreed(lines, strict), Links(tree))


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a text without markup: separated by blank lines, else one per line."""
    parts = _BLANK_LINE.split(text) if _BLANK_LINE.search(text.strip()) else text.splitlines()
    return [line for part in parts if (line := " ".join(part.split()))]


def _agreed(lines: list[str], strict: list[str]) -> list[str]:
    """The lines from the first to the last one that is prose or that the stricter extraction found too."""
    found = key_of("".join(strict))
    if len(found) < _LEAST_AGREEMENT * len(key_of("".join(lines))):
        return lines
    sure = [at for at, line in enumerate(lines) if key_of(line) in found or is_prose(line)]
    return lines[sure[0] : sure[-1] + 1] if sure else lines


def _lines(text: str) -> list[str]:
    return [line for part in text.splitlines() if (line := " ".join(part.split()).strip("| "))]
