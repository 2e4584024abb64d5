"""MangaDex, through its API (facts: about 5 requests/s, windows of 10,000, bans for impatience)."""

import re
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from fascicle.domain.errors import RetryableError
from fascicle.domain.series.chapter import (
    LatestEntry,
    LatestPage,
    ListingPage,
    SeriesInfo,
    SeriesMatch,
    Upload,
)
from fascicle.net.answers import Answer
from fascicle.net.http import HttpClient
from fascicle.sites.addresses import path_on_site, site_gate
from fascicle.sites.fields import count as _count
from fascicle.sites.fields import text as _text
from fascicle.sites.fields import time as _time

NAME = "mangadex"
PUBLIC_URL = "https://mangadex.org"
NEWEST_PAGE = 100
EVERYTHING_PAGE = 500
SERIES_PAGE = 100
SEARCH_PAGE = 20
LATEST_PAGE = 100
# Pages of the latest list overlap, because a deletion meanwhile moves all entries up.
LATEST_STEP = 90
# The API refuses offset + limit beyond this; a longer list continues in a new window.
WINDOW = 10_000

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TITLE_PATH = re.compile(rf"/(?:title|manga)/({_UUID})(?:/.*)?", re.ASCII)
_RATINGS = ("safe", "suggestive", "erotica", "pornographic")


class MangaDex:
    name = NAME

    def __init__(self, http: HttpClient, *, base_url: str, interval_seconds: float) -> None:
        self._http = http
        self._base = base_url
        self.gate = site_gate(NAME, interval_seconds)

    def recognise(self, url: str) -> str | None:
        path = path_on_site(url, self._base, "mangadex.org", "api.mangadex.org")
        match = _TITLE_PATH.fullmatch(path or "")
        return match[1].lower() if match else None

    async def series(self, key: str) -> SeriesInfo:
        answer = await self._http.get(f"{self._base}/manga/{key}", self.gate)
        info = _series_info(_collection(answer).get("data"))
        if info is None:
            raise _unexpected(answer, "no manga in it")
        return info

    async def many(self, keys: Sequence[str]) -> list[SeriesInfo]:
        found: list[SeriesInfo] = []
        unique = list(dict.fromkeys(keys))
        for start in range(0, len(unique), SERIES_PAGE):
            asked = unique[start : start + SERIES_PAGE]
            rows = await self._manga({"ids[]": asked, "limit": SERIES_PAGE})
            found += [info for row in rows if (info := _series_info(row))]
        return found

    async def search(self, title: str) -> list[SeriesMatch]:
        rows = await self._manga({"title": title, "limit": SEARCH_PAGE, "order[relevance]": "desc"})
        return [match for row in rows if (match := _series_match(row))]

    async def _manga(self, params: dict[str, Any]) -> list[Any]:
        asked = {"contentRating[]": _RATINGS, **params}
        answer = await self._http.get(f"{self._base}/manga", self.gate, params=asked)
        return _rows(answer, _collection(answer))

    async def newest(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        offset = int(cursor or 0)
        answer = await self._feed(key, languages, NEWEST_PAGE, offset, {"order[readableAt]": "desc"})
        uploads, total, rows = _uploads(answer, languages)
        following = offset + NEWEST_PAGE
        more = rows == NEWEST_PAGE and following < min(total, WINDOW - NEWEST_PAGE)
        return ListingPage(uploads, rows, total, str(following) if more else None)

    async def everything(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        """Oldest first: new uploads are appended meanwhile, so no page shifts."""
        since, _, at = (cursor or "|0").partition("|")
        offset = int(at)
        extra = {"order[createdAt]": "asc", **({"createdAtSince": since} if since else {})}
        answer = await self._feed(key, languages, EVERYTHING_PAGE, offset, extra)
        uploads, total, rows = _uploads(answer, languages)
        following: str | None = None
        if offset + rows < total and rows:
            following = f"{since}|{offset + EVERYTHING_PAGE}"
            if offset + 2 * EVERYTHING_PAGE > WINDOW:
                following = f"{_last_created(answer)}|0"
        return ListingPage(uploads, rows, total, following)

    async def latest(self, languages: Sequence[str], cursor: str | None) -> LatestPage:
        offset = int(cursor or 0)
        params: dict[str, Any] = {
            "limit": LATEST_PAGE,
            "offset": offset,
            "order[readableAt]": "desc",
            "contentRating[]": _RATINGS,
            "includeFutureUpdates": "0",
        }
        if languages:
            params["translatedLanguage[]"] = list(languages)
        answer = await self._http.get(f"{self._base}/chapter", self.gate, params=params)
        rows = _rows(answer, _collection(answer))
        following = offset + LATEST_STEP
        more = len(rows) == LATEST_PAGE and following + LATEST_PAGE <= WINDOW
        entries = [entry for row in rows if (entry := _latest_entry(row)) is not None]
        return LatestPage(entries, str(following) if more else None, len(rows))

    async def _feed(
        self, key: str, languages: Sequence[str], limit: int, offset: int, extra: dict[str, str]
    ) -> Answer:
        params: dict[str, Any] = {
            "limit": limit,
            "offset": offset,
            "includes[]": "scanlation_group",
            "contentRating[]": _RATINGS,
            "includeUnavailable": "1",
            "includeFutureUpdates": "0",
            **extra,
        }
        if languages:
            params["translatedLanguage[]"] = list(languages)
        return await self._http.get(f"{self._base}/manga/{key}/feed", self.gate, params=params)


def _collection(answer: Answer) -> dict[str, Any]:
    if answer.status == 204 or not answer.body:
        return {"result": "ok", "data": [], "total": 0}
    body = answer.json()
    if not isinstance(body, dict) or body.get("result") == "error":
        raise _unexpected(answer, "an error in a good answer")
    return body


def _unexpected(answer: Answer, what: str) -> RetryableError:
    return RetryableError("bad_answer", f"{answer.place} answered oddly: {what}.", http_status=answer.status)


def _series_info(row: Any) -> SeriesInfo | None:
    """A manga; None for a row that is no manga."""
    if not isinstance(row, dict) or not isinstance(row.get("attributes"), dict):
        return None
    key = _text(row.get("id"))
    if key is None:
        return None
    attributes = row["attributes"]
    return SeriesInfo(
        site_key=key,
        title=_title(attributes) or key,
        url=f"{PUBLIC_URL}/title/{key}",
        numbering_restarts=bool(attributes.get("chapterNumbersResetOnNewVolume")),
    )


def _series_match(row: Any) -> SeriesMatch | None:
    info = _series_info(row)
    if info is None:
        return None
    attributes = row["attributes"]
    others = attributes.get("altTitles")
    named = [attributes.get("title"), *(others if isinstance(others, list) else ())]
    titles = [text for names in named if isinstance(names, dict) for text in map(_text, names.values())]
    links = attributes.get("links")
    known = links if isinstance(links, dict) else {}
    return SeriesMatch(
        info=info,
        titles=tuple(dict.fromkeys(title for title in titles if title)),
        anilist_id=_text(known.get("al")),
        mal_id=_text(known.get("mal")),
    )


def _rows(answer: Answer, body: dict[str, Any]) -> list[Any]:
    rows = body.get("data")
    if not isinstance(rows, list):
        raise _unexpected(answer, "no list in it")
    return rows


def _latest_entry(row: Any) -> LatestEntry | None:
    upload = _upload(row, ())
    series_key = _series_key(row)
    if upload is None or series_key is None:
        return None
    return LatestEntry(series_key, upload.upload_id, upload.published_at, upload.language)


def _series_key(row: Any) -> str | None:
    relationships = row.get("relationships") if isinstance(row, dict) else None
    manga = [r for r in relationships or [] if isinstance(r, dict) and r.get("type") == "manga"]
    return (_text(manga[0].get("id")) or "").lower() or None if manga else None


def _uploads(answer: Answer, languages: Sequence[str]) -> tuple[list[Upload], int, int]:
    """The uploads of a feed page, the total, and the number of rows on the page."""
    body = _collection(answer)
    rows = _rows(answer, body)
    uploads = [upload for row in rows if (upload := _upload(row, languages)) is not None]
    total = body.get("total")
    return uploads, total if isinstance(total, int) else len(rows), len(rows)


def _upload(row: Any, languages: Sequence[str]) -> Upload | None:
    """One upload; None for a row that is no chapter or in another language."""
    if not isinstance(row, dict) or not isinstance(row.get("attributes"), dict):
        return None
    upload_id = _text(row.get("id"))
    if upload_id is None:
        return None
    attributes = row["attributes"]
    language = _text(attributes.get("translatedLanguage"))
    if languages and language and language not in languages:
        return None
    external = _text(attributes.get("externalUrl"))
    return Upload(
        upload_id=upload_id,
        number=_text(attributes.get("chapter")),
        volume=_text(attributes.get("volume")),
        title=_text(attributes.get("title")),
        language=language,
        group=_group(row.get("relationships")),
        url=external or f"{PUBLIC_URL}/chapter/{upload_id}",
        external=external is not None,
        pages=_count(attributes.get("pages")),
        published_at=_time(attributes.get("readableAt") or attributes.get("publishAt")),
        unavailable=attributes.get("isUnavailable") is True,
    )


def _group(relationships: Any) -> str | None:
    if not isinstance(relationships, list):
        return None
    names = [
        _text((r.get("attributes") or {}).get("name"))
        for r in relationships
        if isinstance(r, dict) and r.get("type") == "scanlation_group"
    ]
    return ", ".join(name for name in names if name) or None


def _title(attributes: dict[str, Any]) -> str | None:
    titles = attributes.get("title")
    if not isinstance(titles, dict):
        return None
    return _text(titles.get("en")) or next((t for t in map(_text, titles.values()) if t), None)


def _last_created(answer: Answer) -> str:
    created = _time(_collection(answer)["data"][-1]["attributes"].get("createdAt"))
    if created is None:
        raise _unexpected(answer, "a chapter without a creation time")
    return created.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
