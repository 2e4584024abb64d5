"""The main text of a page, as trafilatura finds it in what is left when misleading markup is gone."""

import re
from copy import deepcopy
from dataclasses import dataclass, field

from fascicle.sites.articles.markup import Links, drop_asides_in_sentences, key_of, unfold_layout_tables
from fascicle.sites.articles.trimming import is_prose
from fascicle.sites.pages.main_text import extracted

# A stricter look that finds less than this share of the text has lost the article, not the rest of the page.
_LEAST_AGREEMENT = 0.5
_TAG = re.compile(r"<[a-zA-Z!/?]")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


@dataclass(frozen=True)
class MainText:
    lines: list[str] = field(default_factory=list)
    links: Links = field(default_factory=Links)


def main_text(html: str, url: str) -> MainText:
    """Its paragraphs in their order, and what on the page is links. Blocks."""
    # Half a second to import, so only where pages are read.
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
    """Of a document without markup: blank lines part them, or each line is one."""
    parts = _BLANK_LINE.split(text) if _BLANK_LINE.search(text.strip()) else text.splitlines()
    return [line for part in parts if (line := " ".join(part.split()))]


def _agreed(lines: list[str], strict: list[str]) -> list[str]:
    """From the first to the last line that is prose, or that a stricter look finds, too."""
    found = key_of("".join(strict))
    if len(found) < _LEAST_AGREEMENT * len(key_of("".join(lines))):
        return lines
    sure = [at for at, line in enumerate(lines) if key_of(line) in found or is_prose(line)]
    return lines[sure[0] : sure[-1] + 1] if sure else lines


def _lines(text: str) -> list[str]:
    return [line for part in text.splitlines() if (line := " ".join(part.split()).strip("| "))]
