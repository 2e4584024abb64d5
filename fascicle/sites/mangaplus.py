"""MANGA Plus by Shueisha, through the API of its website. It shows the first and the latest chapters only."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError
from fascicle.domain.series.chapter import ListingPage, SeriesInfo, Upload
from fascicle.net.answers import Answer
from fascicle.net.http import HttpClient
from fascicle.sites import fields
from fascicle.sites.addresses import path_on_site, site_gate
from fascicle.sites.labels import label_title

NAME = "mangaplus"
PUBLIC_URL = "https://mangaplus.shueisha.co.jp"

_TITLE_PATH = re.compile(r"/titles/([0-9]{1,12})/?", re.ASCII)
# The middle list only shows the chapters that the app sells; they cannot be read.
_READABLE = ("firstChapterList", "lastChapterList")
# A title is in one language. The API names or numbers it, and leaves English out.
_LANGUAGES: dict[Any, str] = {
    None: "en", "ENGLISH": "en", "SPANISH": "es-la", "FRENCH": "fr", "INDONESIAN": "id",
    "PORTUGUESE_BR": "pt-br", "RUSSIAN": "ru", "THAI": "th", "GERMAN": "de", "VIETNAMESE": "vi",
    0: "en", 1: "es-la", 2: "fr", 3: "id", 4: "pt-br", 5: "ru", 6: "th", 7: "de", 9: "vi",
}  # fmt: skip


class MangaPlus:
    name = NAME

    def __init__(self, http: HttpClient, *, base_url: str, interval_seconds: float) -> None:
        self._http = http
        self._base = base_url
        self.gate = site_gate(NAME, interval_seconds)

    def recognise(self, url: str) -> str | None:
        path = path_on_site(url, self._base, "mangaplus.shueisha.co.jp")
        match = _TITLE_PATH.fullmatch(path or "")
        return match[1] if match else None

    async def series(self, key: str) -> SeriesInfo:
        view, _ = await self._title(key)
        return SeriesInfo(
            site_key=key,
            title=fields.text(view["title"].get("name")) or key,
            url=f"{PUBLIC_URL}/titles/{key}",
        )

    async def newest(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        page = await self.everything(key, languages, cursor)
        return ListingPage(list(reversed(page.uploads)), page.rows, page.total, None, partial=True)

    async def everything(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        """The chapters that can be read now, oldest first. A title has one language, so none is filtered."""
        view, answer = await self._title(key)
        rows = list(_rows(view, answer))
        language = view["title"].get("language")
        spoken = _LANGUAGES.get(language) if isinstance(language, str | int | None) else None
        uploads = [upload for row in rows if (upload := _upload(row, spoken)) is not None]
        return ListingPage(uploads, len(rows), len(rows), None, partial=True)

    async def _title(self, key: str) -> tuple[dict[str, Any], Answer]:
        params = {"title_id": key, "format": "json"}
        answer = await self._http.get(f"{self._base}/title_detailV3", self.gate, params=params)
        body = answer.json()
        if isinstance(body, dict) and isinstance(body.get("error"), dict):
            raise _refusal(answer, body["error"])
        success = body.get("success") if isinstance(body, dict) else None
        view = success.get("titleDetailView") if isinstance(success, dict) else None
        if not isinstance(view, dict) or not isinstance(view.get("title"), dict):
            raise _unexpected(answer, "no title in it")
        return view, answer


def _refusal(answer: Answer, error: dict[str, Any]) -> FascicleError:
    """Errors come with status 200, as pop-ups in several languages; English is the one without a name."""
    popups = error.get("popups")
    listed = [p for p in popups if isinstance(p, dict)] if isinstance(popups, list) else []
    if isinstance(error.get("englishPopup"), dict):
        listed.insert(0, error["englishPopup"])
    popup = next(
        (p for p in listed if p.get("language") in (None, 0, "ENGLISH")), listed[0] if listed else {}
    )
    subject, body = fields.text(popup.get("subject")), fields.text(popup.get("body"))
    said = ": ".join(part for part in (subject, body) if part) or "an error without a word"
    if (subject or "").casefold() == "not found":
        return PermanentError("not_found", f"MANGA Plus has no such title ({said}).", http_status=404)
    return RetryableError("site_error", f"{answer.place} refused: {said}", http_status=answer.status)


def _unexpected(answer: Answer, what: str) -> RetryableError:
    return RetryableError("bad_answer", f"{answer.place} answered oddly: {what}.", http_status=answer.status)


def _rows(view: dict[str, Any], answer: Answer) -> Iterator[Any]:
    groups = view.get("chapterListGroup", [])
    if not isinstance(groups, list):
        raise _unexpected(answer, "no list of chapters")
    for group in groups:
        for name in _READABLE:
            listed = group.get(name, []) if isinstance(group, dict) else None
            yield from listed if isinstance(listed, list) else [None]


def _upload(row: Any, language: str | None) -> Upload | None:
    if not isinstance(row, dict) or not isinstance(row.get("chapterId"), int):
        return None
    name = fields.text(row.get("name")) or ""
    subtitle = fields.text(row.get("subTitle"))
    chapter_id = str(row["chapterId"])
    return Upload(
        upload_id=chapter_id,
        number=name.removeprefix("#").strip() or None,
        title=label_title(subtitle),
        language=language,
        group="MANGA Plus",
        url=f"{PUBLIC_URL}/viewer/{chapter_id}",
        published_at=fields.unix_time(row.get("startTimeStamp")),
        unavailable=subtitle is None,  # the subtitle disappears when the chapter can no longer be read
    )
