"""FanFicFare for the rest of Fascicle: it takes pages and returns a work, or the page that it needs next."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from fascicle.domain.errors import PermanentError
from fascicle.domain.fics.fic import Fic, FicCode, FicRef
from fascicle.sites.fanficfare import outcome
from fascicle.sites.fanficfare.fic import fic_of
from fascicle.sites.fanficfare.process import CHILD, Children, TooSlow

_SECONDS_PER_PAGE = 20.0
_LARGEST_PAGES = 16 << 20
_MOST_PAGES = 12


@dataclass(frozen=True)
class PageWanted:
    """Fetch this (the site's gate counts it) and read again, with this page added to the others."""

    url: str


class FanFicFare:
    """Reads pages in child processes, which start with the first page and end with the context."""

    def __init__(
        self, processes: int, *, seconds_per_page: float = _SECONDS_PER_PAGE, child: str = CHILD
    ) -> None:
        self._children = Children(processes, child)
        self._seconds = seconds_per_page

    @property
    def pids(self) -> list[int]:
        """The processes that run at present."""
        return self._children.pids

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all processes at once; a caller that waits for one gets a retryable error."""
        await self._children.close()

    async def read(self, ref: FicRef, pages: Mapping[str, bytes]) -> Fic | PageWanted:
        """The work, or the page that FanFicFare needs next: add it to `pages` under exactly that address."""
        self._check(ref, *pages.values())
        answer = await self._ask(ref, {"pages": {url: _encoded(body) for url, body in pages.items()}})
        wanted = answer.get("wanted")
        if wanted is None:
            return fic_of(ref, answer["facts"])
        if len(pages) >= _MOST_PAGES:
            raise PermanentError(
                FicCode.PARSER_BROKEN, f"{ref.url} cannot be read: {_MOST_PAGES} pages were not enough."
            )
        return PageWanted(wanted)

    async def read_saved(self, ref: FicRef, body: bytes) -> Fic:
        """The work, from a page that a person saved in a browser."""
        self._check(ref, body)
        answer = await self._ask(ref, {"pages": {}, "saved": _encoded(body)})
        if "wanted" in answer:
            raise outcome.page_missing(ref, answer["wanted"])
        return fic_of(ref, answer["facts"])

    def _check(self, ref: FicRef, *bodies: bytes) -> None:
        if sum(map(len, bodies)) > _LARGEST_PAGES:
            raise PermanentError(
                FicCode.PARSER_BROKEN,
                f"The pages of {ref.url} are larger than {_LARGEST_PAGES >> 20} MiB together: no work's are.",
            )
        if any(map(outcome.challenge_in, bodies)):
            raise outcome.challenged(ref)

    async def _ask(self, ref: FicRef, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = await self._children.ask({"url": ref.url, **request}, self._seconds)
        except TooSlow:
            raise outcome.too_slow(ref, self._seconds) from None
        if "failed" in answer:
            raise outcome.failure(ref, answer)
        if "form" in answer:
            raise outcome.form_wanted(ref)
        if "wanted" in answer and not answer["at_home"]:
            raise outcome.strayed(ref, answer["wanted"])
        return answer


def _encoded(body: bytes) -> str:
    return base64.b64encode(body).decode()
