"""Shared code of the smaller upstreams: routes below a prefix, series by their site key, pages."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import ClassVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer, plain_error
from simulator.catalogue import find_series
from simulator.series import Series
from simulator.upload import Upload
from simulator.world import World


class RoutedSite(ABC):
    """An upstream that answers by route; a subclass defines its name and its routes."""

    name: ClassVar[str]

    def __init__(self, world: World) -> None:
        self.prefix = f"/{self.name}"
        self._world = world
        self._router = Router(self._routes(), redirect_slashes=False)

    @abstractmethod
    def _routes(self) -> Sequence[Route]: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            await self.error(error.status_code, None)(scope, receive, send)

    def error(self, status: int, retry_after: str | None) -> Answer:
        return plain_error(status, retry_after)

    def _series(self, request: Request) -> Series:
        series = find_series(self._world, self.name, request.path_params["key"])
        if series is None:
            raise HTTPException(404)
        return series

    def _uploads(self, series: Series) -> list[Upload]:
        """The series' readable uploads on this site, newest first. Hold the world's lock."""
        return list(series.readable_on(self.name, self._world.now()))


def html_error(status: int, retry_after: str | None) -> Answer:
    headers = {"content-type": "text/html; charset=utf-8"}
    if retry_after is not None:
        headers["retry-after"] = retry_after
    return Answer(status, f"<!DOCTYPE html><title>{status}</title><h1>{status}</h1>".encode(), headers)


def html_page(title: str, *parts: str) -> HTMLResponse:
    body = "\n".join(parts)
    return HTMLResponse(
        f"<!DOCTYPE html>\n<html><head><title>{escape(title)}</title></head>\n<body>\n{body}\n</body></html>"
    )


def page_number(request: Request, given: str | None = None) -> int:
    text = given or request.query_params.get("page", "1")
    if not text.isdecimal() or int(text) < 1:
        raise HTTPException(400)
    return int(text)
