"""Finds the next page of a list, and detects a list that goes in circles."""

import hashlib
from collections.abc import Iterable
from urllib.parse import urlsplit

from fascicle.domain.errors import RetryableError
from fascicle.sites import fields
from fascicle.sites.declarative.description import Paging
from fascicle.sites.declarative.document import Document, FetchedPage, value
from fascicle.sites.declarative.position import Position


def check_is_new(position: Position, ids: Iterable[str], page: FetchedPage) -> Position:
    """This position with its page noted, or an error if the same page was there before."""
    print_of_page = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:12]
    if print_of_page in position.seen:
        before = position.seen.index(print_of_page) + 1
        raise RetryableError(
            "endless_list",
            f"{page.place}: page {position.turn} of the list is page {before} again. "
            "If it stays so, the adapter's `paging` does not fit the site.",
        )
    return position.model_copy(update={"seen": [*position.seen, print_of_page]})


def following(
    position: Position, paging: Paging | None, document: Document, rows: int, page: FetchedPage
) -> str | None:
    """The cursor of the next page; None at the end."""
    if paging is None:
        return None
    if paging.by == "page":
        goes_on = rows > 0 and (paging.more is None or document.has(paging.more))
        return position.next("") if goes_on else None
    found = value(document, paging.next)
    if found is None:
        return None
    return position.next(_checked_link(found, page) if paging.by == "link" else found[:1000])


def is_certain_end(paging: Paging | None, document: Document) -> bool:
    """Does the list itself say that it ends here? A missing link may also be a page that has changed."""
    if paging is None:
        return True
    sign = paging.next if paging.next else paging.more
    return sign is None or document.denies(sign)


def _checked_link(found: str, page: FetchedPage) -> str:
    """The next page's address. It must be on the same host as this page."""
    link = fields.address(found, page.url)
    if link is None or urlsplit(link).netloc != urlsplit(page.url).netloc:
        raise RetryableError(
            "bad_answer", f"{page.place}: the next page's link leads elsewhere: {found[:100]!r}."
        )
    return link
