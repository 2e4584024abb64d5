"""One work of a list."""

import re

from pydantic import ValidationError
from selectolax.lexbor import LexborNode

from fascicle.domain.errors import FascicleError, PermanentError
from fascicle.domain.fics.fic import Blurb, Fic, FicCode
from fascicle.sites.ao3 import parts
from fascicle.sites.ao3.tree import PUBLIC_URL, broken, day, href, id_in, line, lines

_UPDATED = re.compile(r"\s*updated_at=([0-9]{1,19})\s*")
_TITLE = 'h4.heading > a[href*="/works/"]'
_NO_CATEGORY = "No category"
# Only children match: a summary may contain lists too, and the list of works is a `ul.series` too.
_PLACES = "li.blurb > ul.series > li"
_TAGS = "li.blurb > ul.tags > li"


def read_blurb(entry: LexborNode, series_id: str) -> Blurb:
    """A work of this series. A blurb that cannot be read says why, and does not affect the others."""
    work_id = _work_id(entry)
    part = _part(entry, series_id)
    try:
        return Blurb(part=part, work_id=work_id, fic=_read(entry, work_id))
    except FascicleError as error:
        why = error
    except ValidationError:
        why = broken("its facts make no sense")
    return Blurb(part=part, work_id=work_id, error=why.message, error_code=why.code)


def _read(entry: LexborNode, work_id: str | None) -> Fic:
    if entry.css_matches("div.mystery"):
        raise PermanentError(FicCode.UNREVEALED, "The work is part of a challenge and not revealed yet.")
    heading = entry.css_first("h4.heading")
    title = line(entry.css_first(_TITLE))
    fandoms = entry.css_first("h5.fandoms")
    stats = entry.css_first("li.blurb > dl.stats")
    if heading is None or fandoms is None or stats is None or not title or work_id is None:
        raise broken("this entry of the list lacks its title, its fandoms or its numbers")
    authors = parts.creators(heading)
    if not authors["authors"]:
        raise broken("this entry of the list has no author")
    return Fic(
        site=parts.NAME,
        id=work_id,
        url=f"{PUBLIC_URL}/works/{work_id}",
        title=title,
        **authors,
        **parts.numbers(stats),
        fandoms=lines(fandoms.css("a.tag")),
        relationships=lines(entry.css(f"{_TAGS}.relationships a.tag")),
        characters=lines(entry.css(f"{_TAGS}.characters a.tag")),
        tags=lines(entry.css(f"{_TAGS}.freeforms a.tag")),
        warnings=lines(entry.css(f"{_TAGS}.warnings a.tag")),
        categories=_categories(entry),
        rating=line(entry.css_first("ul.required-tags span.rating")) or None,
        summary=parts.summary(entry.css_first("li.blurb > blockquote.summary")),
        updated_on=day(line(entry.css_first("p.datetime"))),
        restricted=parts.is_restricted(heading),
        change_token=_change_token(entry),
        series=parts.places(entry.css(_PLACES)),
    )


def _work_id(entry: LexborNode) -> str | None:
    """The id from the entry's own `work_12`, because a work that is not revealed has no link."""
    named = (entry.attributes.get("id") or "").removeprefix("work_")
    return id_in(f"/works/{named}", "works") or id_in(href(entry.css_first(_TITLE)), "works")


def _part(entry: LexborNode, series_id: str) -> int | None:
    places = parts.places(entry.css(_PLACES))
    return next((place.part for place in places if place.id == series_id), None)


def _categories(entry: LexborNode) -> list[str]:
    said = line(entry.css_first("ul.required-tags span.category"))
    return [name for name in said.split(", ") if name and name != _NO_CATEGORY]


def _change_token(entry: LexborNode) -> str | None:
    """The archive writes it into a comment above the title."""
    header = entry.css_first("div.header")
    comments = (
        (n.comment_content for n in header.iter(include_text=True) if n.is_comment_node) if header else ()
    )
    found = (_UPDATED.fullmatch(comment or "") for comment in comments)
    return next((match[1] for match in found if match), None)
