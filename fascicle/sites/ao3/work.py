"""A work's page."""

from urllib.parse import parse_qs, urlsplit

from selectolax.lexbor import LexborNode

from fascicle.domain.fics.fic import Fic, FicRef
from fascicle.sites.ao3 import parts
from fascicle.sites.ao3.tree import broken, day, href, id_in, line, lines

# Work skins and summaries can imitate classes, but not the position below the page's own parts.
_PREFACE = "#workskin > div.preface"
_EVERY_WORK_HAS = ("dd.rating", "dd.fandom", "dd.words", "dd.chapters")
_LINKS_TO_ITSELF = 'ul.work.navigation a[href*="/works/"], ul.work.navigation a[href*="/downloads/"]'


def read_work(main: LexborNode, ref: FicRef) -> Fic:
    meta = main.css_first("dl.work.meta")
    title = main.css_first(f"{_PREFACE} > h2.title")
    byline = main.css_first(f"{_PREFACE} > h3.byline")
    if meta is None or title is None or byline is None or not all(map(meta.css_matches, _EVERY_WORK_HAS)):
        raise broken("it lacks what every work has, so the archive has probably changed its pages")
    _check_is_about(main, meta, ref)
    authors = parts.creators(byline)
    if not line(title) or not authors["authors"]:
        raise broken("it has no title or no author")
    return Fic(
        site=ref.site,
        id=ref.id,
        url=ref.url,
        title=line(title),
        **authors,
        **parts.numbers(meta),
        fandoms=_tags(meta, "fandom"),
        relationships=_tags(meta, "relationship"),
        characters=_tags(meta, "character"),
        tags=_tags(meta, "freeform"),
        warnings=_tags(meta, "warning"),
        categories=_tags(meta, "category"),
        rating=next(iter(_tags(meta, "rating")), None),
        summary=parts.summary(main.css_first(f"{_PREFACE} > div.summary > blockquote.userstuff")),
        published_on=day(line(meta.css_first("dd.published"))),
        updated_on=day(line(meta.css_first("dd.status"))),
        restricted=parts.is_restricted(title),
        change_token=_change_token(main),
        series=parts.places(meta.css("dd.series span.position")),
    )


def _tags(meta: LexborNode, kind: str) -> list[str]:
    return lines(meta.css(f"dd.{kind} a.tag"))


def _check_is_about(main: LexborNode, meta: LexborNode, ref: FicRef) -> None:
    found = _work_id(main, meta)
    if found is None:
        raise broken("it does not say which work it is")
    if found != ref.id:
        raise broken(f"it is about work {found}, not about {ref.id}")


def _work_id(main: LexborNode, meta: LexborNode) -> str | None:
    """The id from the kudos form, which names only this work; else from the links above the work."""
    kudos = main.css_first('input[name="kudo[commentable_id]"]')
    number = (kudos.attributes.get("value") or "") if kudos else ""
    candidates = [
        f"/works/{number}",
        *map(href, main.css(_LINKS_TO_ITSELF)),
        href(meta.css_first("dd.bookmarks a")),
    ]
    return next((found for address in candidates if (found := id_in(address, "works", "downloads"))), None)


def _change_token(main: LexborNode) -> str | None:
    link = href(main.css_first('li.download a[href*="updated_at="]'))
    try:
        values = parse_qs(urlsplit(link[:2000]).query).get("updated_at", [])
    except ValueError:
        return None
    return next((value for value in values if value.isascii() and value.isdigit() and len(value) < 20), None)
