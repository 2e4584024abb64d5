"""Where a reader of a list stands, and how it is kept from walking in circles."""

import hashlib
from collections.abc import Iterable
from urllib.parse import quote, urlsplit

from pydantic import BaseModel

from fascicle.domain.errors import RetryableError
from fascicle.runtime.answers import Answer
from fascicle.sites import fields
from fascicle.sites.declarative.description import Paging
from fascicle.sites.declarative.document import Document, value


class Position(BaseModel):
    """A place in a list, as the opaque cursor between two pages."""

    turn: int = 1
    at: str = ""
    """The address (by link) or token (by cursor) of this page; empty for the first one"""
    seen: list[str] = []
    """Fingerprints of the pages before"""

    @classmethod
    def of(cls, cursor: str | None) -> "Position":
        return cls.model_validate_json(cursor) if cursor else cls()

    def url(self, template: str, paging: Paging | None) -> str:
        if paging is None:
            return template
        if paging.by == "link":
            return self.at or template
        number = paging.first + self.turn - 1
        return template.replace("{page}", str(number)).replace("{cursor}", quote(self.at, safe=""))

    def check_is_new(self, ids: Iterable[str], answer: Answer) -> "Position":
        """This position with its page noted, or an error where the page was there before."""
        print_of_page = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:12]
        if print_of_page in self.seen:
            before = self.seen.index(print_of_page) + 1
            raise RetryableError(
                "endless_list",
                f"{answer.place}: page {self.turn} of the list is page {before} again. "
                "If it stays so, the adapter's `paging` does not fit the site.",
            )
        return self.model_copy(update={"seen": [*self.seen, print_of_page]})

    def following(self, paging: Paging | None, document: Document, rows: int, answer: Answer) -> str | None:
        """The cursor of the next page; None at the end."""
        if paging is None:
            return None
        if paging.by == "page":
            goes_on = rows > 0 and (paging.more is None or document.has(paging.more))
            return self._next("") if goes_on else None
        found = value(document, paging.next)
        if found is None:
            return None
        return self._next(_checked_link(found, answer) if paging.by == "link" else found[:1000])

    def _next(self, at: str) -> str:
        return Position(turn=self.turn + 1, at=at, seen=self.seen).model_dump_json()


def is_certain_end(paging: Paging | None, document: Document) -> bool:
    """Does the list itself say that it ends here? A missing link may also be a page that has changed."""
    if paging is None:
        return True
    sign = paging.next if paging.next else paging.more
    return sign is None or document.denies(sign)


def _checked_link(found: str, answer: Answer) -> str:
    """A list goes on where it began: on the same host."""
    link = fields.address(found, answer.url)
    if link is None or urlsplit(link).netloc != urlsplit(answer.url).netloc:
        raise RetryableError(
            "bad_answer", f"{answer.place}: the next page's link leads elsewhere: {found[:100]!r}."
        )
    return link
