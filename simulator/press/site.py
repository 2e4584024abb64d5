"""The press as an upstream; unknown articles are a 404."""

from collections.abc import AsyncIterator, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer
from simulator.feeds.serving import base_of
from simulator.press.files import PNG, pdf
from simulator.press.pages import article_page, error_page, listing_page, login_page, soft_404_page
from simulator.press.press import Press, UnknownArticleError
from simulator.press.records import PREFIX, Article

CHUNK_BYTES = 65_536
HTML_HEADERS = {"content-type": "text/html; charset=utf-8"}

PAGES: dict[str, Callable[[Article, str], str]] = {
    "listing": listing_page,
    "login": login_page,
    "soft_404": soft_404_page,
}


class PressSite:
    prefix = PREFIX

    def __init__(self, press: Press) -> None:
        self._press = press
        self._router = Router([Route("/articles/{slug}", self._get)], redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            await self.error(error.status_code, None)(scope, receive, send)
        except UnknownArticleError:
            await self.error(404, None)(scope, receive, send)

    def error(self, status: int, retry_after: str | None) -> Answer:
        headers = HTML_HEADERS if retry_after is None else {**HTML_HEADERS, "retry-after": retry_after}
        return Answer(status, error_page(status).encode(), headers)

    async def _get(self, request: Request) -> Response:
        article = self._press.article(request.path_params["slug"])
        match article.kind:
            case "pdf":
                return Response(pdf(article), media_type="application/pdf")
            case "image":
                return Response(PNG, media_type="image/png")
            case "redirect":
                return RedirectResponse(article.redirect_to, 302)
            case "redirect_loop":
                return RedirectResponse(f"{base_of(request)}{article.path}", 302)
            case "endless":
                return _endless(article)
            case "status":
                answer = self.error(article.status, article.retry_after)
                return Response(answer.body, answer.status, dict(answer.headers))
        show = PAGES.get(article.kind, article_page)
        return HTMLResponse(show(article, f"{base_of(request)}{article.path}"))


def _endless(article: Article) -> Response:
    """A stream of `body_bytes` bytes; it ends early if the client leaves."""
    announced = {"content-length": str(article.body_bytes)} if article.announced else {}
    return StreamingResponse(_chunks(article), headers={**HTML_HEADERS, **announced})


async def _chunks(article: Article) -> AsyncIterator[bytes]:
    paragraph = "".join(f"<p>{part}</p>\n" for part in article.body).encode()
    chunk = (paragraph * (CHUNK_BYTES // len(paragraph) + 1))[:CHUNK_BYTES]
    beginning = b"<!DOCTYPE html><html><head><title>On and on</title></head><body><article>\n"
    left = article.body_bytes
    yield beginning[:left]
    left -= len(beginning)
    while left > 0:
        yield chunk[:left]
        left -= len(chunk)
