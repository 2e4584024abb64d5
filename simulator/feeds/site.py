"""Blogs and podcasts as one upstream: their feeds, homes and articles."""

from abc import ABC, abstractmethod

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer, json_response
from simulator.feeds.edition import Edition
from simulator.feeds.newsroom import Newsroom, UnknownFeedError
from simulator.feeds.pages import article_page, cover, embedding, home_page
from simulator.feeds.records import FeedEntry
from simulator.feeds.serving import base_of, edition_of, serve
from simulator.site import html_error


class NewsSite(ABC):
    """An upstream that shows the newsroom; unknown feeds and entries are a 404."""

    prefix: str

    def __init__(self, newsroom: Newsroom) -> None:
        self._newsroom = newsroom
        self._router = Router(self._routes(), redirect_slashes=False)

    @abstractmethod
    def _routes(self) -> list[Route]: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            await self.error(error.status_code, None)(scope, receive, send)
        except UnknownFeedError:
            await self.error(404, None)(scope, receive, send)

    def _around(self, entry: FeedEntry, request: Request) -> Edition:
        """An edition for one entry: its feed and addresses, without the feed's entries."""
        return Edition(self._newsroom.feed(entry.feed), base_of(request))

    def error(self, status: int, retry_after: str | None) -> Answer:
        return html_error(status, retry_after)


class Feeds(NewsSite):
    prefix = "/feeds"

    def _routes(self) -> list[Route]:
        article = "/{name}/{entry:int}"
        return [
            Route("/{name}", self._get_feed),
            Route("/{name}/page", self._get_home),
            Route("/{name}/endless", _redirect_on),
            Route(article, self._get_article),
            Route(f"{article}/cover.svg", self._get_cover),
            Route(f"{article}/oembed", self._get_embedding),
        ]

    async def _get_feed(self, request: Request) -> Response:
        with self._newsroom.lock:
            return serve(self._newsroom, self._newsroom.feed(request.path_params["name"]), request)

    async def _get_home(self, request: Request) -> Response:
        with self._newsroom.lock:
            feed = self._newsroom.feed(request.path_params["name"])
            return HTMLResponse(home_page(edition_of(self._newsroom, feed, request)))

    async def _get_article(self, request: Request) -> Response:
        with self._newsroom.lock:
            entry = self._entry(request)
            return HTMLResponse(article_page(self._around(entry, request), entry))

    async def _get_cover(self, request: Request) -> Response:
        return Response(cover(self._entry(request)), media_type="image/svg+xml")

    async def _get_embedding(self, request: Request) -> Response:
        with self._newsroom.lock:
            entry = self._entry(request)
            edition = self._around(entry, request)
            return json_response(embedding(edition, entry, edition.feed.title, "rich"))

    def _entry(self, request: Request) -> FeedEntry:
        return self._newsroom.entry(request.path_params["name"], request.path_params["entry"])


async def _redirect_on(request: Request) -> Response:
    """Redirect without end; the counter makes every address different."""
    hops = request.query_params.get("hops", "0")
    further = int(hops) + 1 if hops.isdecimal() else 1
    return RedirectResponse(f"{base_of(request)}{request.url.path}?hops={further}", 302)
