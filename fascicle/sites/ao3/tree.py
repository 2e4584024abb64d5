"""A page's tree, and small readers of its parts."""

import re
from datetime import date

from selectolax.lexbor import LexborHTMLParser, LexborNode

from fascicle.domain import instants
from fascicle.domain.errors import PermanentError
from fascicle.domain.fics.fic import FicCode
from fascicle.domain.plain_text import plain_line
from fascicle.sites.markup_guards import is_monstrous

PUBLIC_URL = "https://archiveofourown.org"

# All facts are at the top of a page; the story comes below them.
_LONGEST_PAGE = 2_000_000
_LARGEST_COUNT = 2**31 - 1
_SEPARATORS = re.compile(r"[,.\s]")
_DAY = re.compile(r"(\d{1,2}) (\w{3})\w* (\d{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def parsed(body: bytes) -> LexborHTMLParser:
    top = body[:_LONGEST_PAGE]
    if is_monstrous(top):
        raise broken("it is no page a browser could show")
    return LexborHTMLParser(top)


def broken(why: str) -> PermanentError:
    """The error of a page that is not understood. Nothing of it is stored, so that earlier facts stay."""
    return PermanentError(FicCode.PARSER_BROKEN, f"The page could not be read: {why}.")


def line(node: LexborNode | None) -> str:
    """A node's text as one plain line; empty if there is no node."""
    return plain_line(node.text()) if node else ""


def lines(nodes: list[LexborNode]) -> list[str]:
    """Texts in the page's order, without empty ones and repetitions."""
    return list(dict.fromkeys(text for node in nodes if (text := line(node))))


def href(node: LexborNode | None) -> str:
    return (node.attributes.get("href") or "") if node else ""


def id_in(address: str, *folders: str) -> str | None:
    """The number behind one of these folders: `/works/12/chapters/3` → 12."""
    match = re.search(rf"/(?:{'|'.join(folders)})/0*([1-9][0-9]{{0,11}})(?![0-9])", address[:500])
    return match[1] if match else None


def count(text: str) -> int | None:
    """`12,345` → 12345; None if it is no number."""
    digits = _SEPARATORS.sub("", text)
    if not (digits.isascii() and digits.isdigit()):
        return None
    return min(int(digits[:20]), _LARGEST_COUNT)


def day(text: str) -> date | None:
    """`2021-04-11` in a work's header, `11 Apr 2021` in a blurb."""
    try:
        if match := _DAY.fullmatch(text):
            written = date(int(match[3]), _MONTHS.index(match[2].lower()) + 1, int(match[1]))
            return instants.day(written)
        return instants.day(date.fromisoformat(text))
    except ValueError:
        return None
