"""The answer to a feed request: the document, 304, a redirect or an error."""

import hashlib
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from simulator.feeds.documents import CONTENT_TYPES, document
from simulator.feeds.edition import Edition
from simulator.feeds.newsroom import Newsroom
from simulator.feeds.records import Feed

ERROR_PAGE = (
    "<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>We will be back</h1></body></html>"
)


def base_of(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}"


def edition_of(newsroom: Newsroom, feed: Feed, request: Request) -> Edition:
    return Edition(feed, base_of(request), newsroom.listed(feed.name))


def serve(newsroom: Newsroom, feed: Feed, request: Request) -> Response:
    """Hold the newsroom's lock."""
    if feed.gone or feed.status is not None:
        raise HTTPException(410 if feed.gone else feed.status or 500)
    if feed.redirect_to is not None:
        return RedirectResponse(_target(newsroom, feed.redirect_to, request), feed.redirect_status)
    if feed.html:
        return HTMLResponse(ERROR_PAGE)
    body = document(edition_of(newsroom, feed, request))
    headers = _validators(feed, body)
    if feed.cache_control is not None:
        headers["cache-control"] = feed.cache_control
    if _is_current(request, headers.get("etag"), feed.changed_at if feed.last_modified else None):
        return Response(None, 304, headers)
    headers["content-type"] = feed.content_type or CONTENT_TYPES[feed.format]
    return Response(body, 200, headers)


def _target(newsroom: Newsroom, wanted: str, request: Request) -> str:
    return wanted if "://" in wanted else f"{base_of(request)}{newsroom.feed(wanted).path}"


def _validators(feed: Feed, body: bytes) -> dict[str, str]:
    headers = {}
    if feed.etag:
        headers["etag"] = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    if feed.last_modified:
        headers["last-modified"] = format_datetime(feed.changed_at, usegmt=True)
    return headers


def _is_current(request: Request, etag: str | None, changed_at: datetime | None) -> bool:
    """Whether the reader has this document; as in HTTP, a date counts only if the reader sent no tag."""
    known = request.headers.get("if-none-match")
    if known is not None:
        return etag is not None and etag in known
    since = request.headers.get("if-modified-since")
    if since is None or changed_at is None:
        return False
    try:
        return parsedate_to_datetime(since) >= changed_at
    except (TypeError, ValueError):
        return False
