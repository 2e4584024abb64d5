"""The common parts of a work's page and a blurb: names, numbers, places in series."""

import re
from itertools import takewhile
from typing import TypedDict

from selectolax.lexbor import LexborNode

from fascicle.domain.fics.fic import SeriesPart
from fascicle.domain.plain_text import plain_line
from fascicle.sites.ao3.tree import PUBLIC_URL, broken, count, href, id_in, line
from fascicle.sites.sanitise import sanitised_html

NAME = "ao3"
_PART = re.compile(r"\D{0,20}([0-9]{1,9}) ")
_ANONYMOUS = "Anonymous"
_ARCHIVED = "[archived by"


class Numbers(TypedDict):
    words: int | None
    chapters: int | None
    chapters_total: int | None
    complete: bool | None
    language: str | None


class Creators(TypedDict):
    authors: list[str]
    author_urls: list[str]


def creators(byline: LexborNode) -> Creators:
    """The byline's authors, without the recipients of a gift and the archivists who imported the work."""
    authors: list[str] = []
    links: list[str] = []
    before = ""
    for node in byline.iter(include_text=True):
        if node.is_text_node:
            before = plain_line(node.text())
            if before.startswith(_ANONYMOUS):
                return Creators(authors=[_ANONYMOUS], author_urls=[])
        elif node.attributes.get("rel") == "author":
            if before.endswith(_ARCHIVED):
                authors.append(before.removesuffix(_ARCHIVED).strip(" ],").removeprefix("by ").strip())
            else:
                authors.append(line(node))
                links.append(_on_site(href(node)))
    return Creators(
        authors=list(dict.fromkeys(filter(None, authors))),
        author_urls=list(dict.fromkeys(filter(None, links))),
    )


def numbers(stats: LexborNode) -> Numbers:
    """Words, chapters (`14/?`: the total is not known) and the language."""
    there, _, planned = line(stats.css_first("dd.chapters")).partition("/")
    chapters, total = count(there), count(planned)
    if chapters is None:
        raise broken("its number of chapters is missing")
    return Numbers(
        words=count(line(stats.css_first("dd.words"))),
        chapters=chapters,
        chapters_total=total,
        complete=chapters == total,
        language=line(stats.css_first("dd.language")) or None,
    )


def places(entries: list[LexborNode]) -> list[SeriesPart]:
    """Each entry reads `Part 3 of Title`; the title is a link."""
    found = []
    for entry in entries:
        link = entry.css_first('a[href*="/series/"]')
        number = id_in(href(link), "series")
        if number:
            said = _PART.match(line(entry))
            part = int(said[1]) if said else None
            url = f"{PUBLIC_URL}/series/{number}"
            found.append(SeriesPart(id=number, title=line(link), url=url, part=part))
    return found


def summary(quote: LexborNode | None) -> str | None:
    return sanitised_html(quote.inner_html or "") if quote else None


def is_restricted(heading: LexborNode) -> bool:
    return heading.css_matches('img[src*="lockblue"], img[alt="(Restricted)"]')


def _on_site(address: str) -> str:
    path = address.removeprefix(PUBLIC_URL)
    clean = "".join(takewhile(lambda c: c.isprintable() and not c.isspace(), path))
    return f"{PUBLIC_URL}{clean}" if clean.startswith("/") and not clean.startswith("//") else ""
