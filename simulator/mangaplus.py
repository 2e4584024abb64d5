"""The part of MANGA Plus' web API that a reader of chapter lists needs."""

from collections.abc import Sequence
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simulator.answers import Answer, json_response
from simulator.catalogue import find_series, series_key
from simulator.ids import numeric_id
from simulator.series import Series
from simulator.site import RoutedSite
from simulator.upload import Upload, numeric_value

SHOWN_AT_EACH_END = 3
LANGUAGES = {
    "en": None, "es-la": "SPANISH", "fr": "FRENCH", "id": "INDONESIAN", "pt-br": "PORTUGUESE_BR",
    "ru": "RUSSIAN", "th": "THAI", "de": "GERMAN", "vi": "VIETNAMESE",
}  # fmt: skip


class MangaPlus(RoutedSite):
    name = "mangaplus"

    def _routes(self) -> Sequence[Route]:
        return [Route("/title_detailV3", self._get_title)]

    def error(self, status: int, retry_after: str | None) -> Answer:
        headers = {"content-type": "application/json"}
        if retry_after is not None:
            headers["retry-after"] = retry_after
        return Answer(status, orjson.dumps(_refusal("Error", f"simulated status {status}")), headers)

    async def _get_title(self, request: Request) -> Response:
        if request.query_params.get("format") != "json":
            raise HTTPException(400, "only JSON is simulated")
        with self._world.lock:
            series = find_series(self._world, self.name, request.query_params.get("title_id", ""))
            if series is None:
                return json_response(_refusal("Not Found", "This title is not available."))
            return json_response({"success": {"titleDetailView": self._view(series)}})

    def _view(self, series: Series) -> dict[str, Any]:
        language = series.about.languages[0]
        oldest_first = [u for u in reversed(self._uploads(series)) if u.language == language]
        title: dict[str, Any] = {
            "titleId": int(series_key(self.name, series)),
            "name": series.title,
            "author": series.about.author,
            "portraitImageUrl": "https://images.example/portrait.webp",
        }
        if LANGUAGES.get(language):
            title["language"] = LANGUAGES[language]
        return {
            "title": title,
            "titleImageUrl": "https://images.example/title.webp",
            "overview": series.about.description.get("en", ""),
            "chapterListGroup": _groups(oldest_first, title["titleId"]),
        }


def _groups(uploads: list[Upload], title_id: int) -> list[dict[str, Any]]:
    """The first and last chapters are readable, the middle ones only listed. Omits empty lists."""
    chapters = [_chapter(upload, title_id) for upload in uploads]
    first, rest = chapters[:SHOWN_AT_EACH_END], chapters[SHOWN_AT_EACH_END:]
    middle, last = rest[:-SHOWN_AT_EACH_END], rest[-SHOWN_AT_EACH_END:]
    lists = (("firstChapterList", first), ("midChapterList", middle), ("lastChapterList", last))
    return [{"chapterNumbers": "", name: listed} for name, listed in lists if listed]


def _chapter(upload: Upload, title_id: int) -> dict[str, Any]:
    whole, _, part = (upload.chapter or "").partition(".")
    numbered = numeric_value(upload.chapter) != float("inf")
    name = f"#{whole.zfill(3)}{f'.{part}' if part else ''}" if numbered else "ex"
    words = [
        f"Chapter {upload.chapter}" if numbered else "Special",
        *([upload.title] if upload.title else []),
    ]
    return {
        "titleId": title_id,
        "chapterId": numeric_id(upload.id),
        "name": name,
        "subTitle": ": ".join(words),
        "startTimeStamp": int(upload.readable_at.timestamp()),
        "endTimeStamp": int(upload.readable_at.timestamp()) + 10 * 365 * 86400,
    }


def _refusal(subject: str, body: str) -> dict[str, Any]:
    popup = {"subject": subject, "body": body}
    return {"error": {"popups": [popup, {**popup, "language": "SPANISH"}]}}
