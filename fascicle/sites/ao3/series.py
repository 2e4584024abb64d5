"""One page of a series. Its blurbs contain all needed facts of its works; no work's own page is fetched."""

from selectolax.lexbor import LexborNode

from fascicle.domain.fics.fic import Blurb, FicRef, SeriesPage
from fascicle.sites.ao3 import parts
from fascicle.sites.ao3.blurb import read_blurb
from fascicle.sites.ao3.tree import broken, count, href, id_in, line

_MOST_PAGES = 5000
_YES_OR_NO = {"yes": True, "no": False}


def read_series(main: LexborNode, ref: FicRef) -> SeriesPage:
    title = line(main.css_first("#main > h2.heading"))
    meta = main.css_first("dl.series.meta")
    stats = main.css_first("dl.series.meta dl.stats")
    if not title or meta is None or stats is None:
        raise broken("it lacks what every series has, so the archive has probably changed its pages")
    works = [read_blurb(entry, ref.id) for entry in main.css("ul.series.index > li.blurb")]
    _check_is_about(main, works, ref)
    page, pages = _paging(main)
    total = count(line(stats.css_first("dd.works")))
    if total and not works and page == 1:
        raise broken(f"it counts {total} works and lists none, so the archive has probably changed its pages")
    facts = _facts(meta)
    creator = facts.get("creator") or facts.get("creators")
    described = facts.get("description")
    return SeriesPage(
        site=ref.site,
        id=ref.id,
        url=ref.url,
        title=title,
        authors=parts.creators(creator)["authors"] if creator else [],
        summary=parts.summary(described.css_first("blockquote")) if described else None,
        words=count(line(stats.css_first("dd.words"))),
        works_total=total,
        complete=_YES_OR_NO.get(line(_facts(stats).get("complete")).lower()),
        page=page,
        pages=pages,
        works=works,
    )


def _facts(listing: LexborNode) -> dict[str, LexborNode]:
    """A definition list by its terms, because most entries of a series have no class of their own."""
    found: dict[str, LexborNode] = {}
    term = ""
    for node in listing.iter():
        if node.tag == "dt":
            term = line(node).lower().rstrip(":")
        elif node.tag == "dd":
            found.setdefault(term, node)
    return found


def _check_is_about(main: LexborNode, works: list[Blurb], ref: FicRef) -> None:
    """Check the links that only this series has; on a page without them, the places of its works."""
    links = main.css('dl.series.meta dd.bookmarks a, ol.pagination a[href*="/series/"]')
    named = {number for link in links if (number := id_in(href(link), "series"))}
    if not named:
        named = {place.id for work in works if work.fic for place in work.fic.series}
    if named and ref.id not in named:
        raise broken(f"it is about series {', '.join(sorted(named))}, not about {ref.id}")


def _paging(main: LexborNode) -> tuple[int, int]:
    """The number of this page, and of all pages. A list that fits on one page has no such links."""
    bar = main.css_first("ol.pagination")
    if bar is None:
        return 1, 1
    page = count(line(bar.css_first(".current"))) or 1
    numbers = [number for item in bar.css("li") if (number := count(line(item)))]
    return min(page, _MOST_PAGES), min(max([page, *numbers]), _MOST_PAGES)
