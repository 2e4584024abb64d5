"""The main text of a page, as trafilatura finds it in what is left when misleading markup is gone."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from fascicle.sites.articles.markup import Links, drop_asides_in_sentences, key_of, unfold_layout_tables
from fascicle.sites.pages.text import extracted

# A stricter look that finds less than this share of the text has lost the article, not the rest of the page.
_LEAST_AGREEMENT = 0.5


@dataclass(frozen=True)
class MainText:
    lines: list[str] = field(default_factory=list)
    links: Links = field(default_factory=Links)


def main_text(html: str, url: str) -> MainText:
    """Its paragraphs as they are in the page, and what of that is links. Blocks: call where that harms nobody."""
    # Half a second to import, so only where pages are read.
    from trafilatura.utils import load_html

    tree = load_html(html)
    if tree is None:
        return MainText()
    unfold_layout_tables(tree)
    drop_asides_in_sentences(tree)
    lines = _lines(extracted(deepcopy(tree), url))
    strict = _lines(extracted(deepcopy(tree), url, favor_precision=True))
    return MainText(list(_agreed(lines, strict)), Links(tree))


def _agreed(lines: list[str], strict: list[str]) -> Iterator[str]:
    """What comes before the first and after the last paragraph that the stricter look finds, too, is not his."""
    found = key_of("".join(strict))
    agreed = [index for index, line in enumerate(lines) if key_of(line) in found]
    if len(found) < _LEAST_AGREEMENT * len(key_of("".join(lines))) or not agreed:
        yield from lines
        return
    yield from lines[agreed[0] : agreed[-1] + 1]


def _lines(text: str) -> list[str]:
    return [line for part in text.splitlines() if (line := " ".join(part.split()).strip("| "))]
