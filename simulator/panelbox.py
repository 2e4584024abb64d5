"""PanelBox, an invented site with a JSON API: cursors, either order (sites.d/panelbox.yaml)."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simulator.answers import json_response
from simulator.catalogue import latest_on, series_key
from simulator.ids import short_id
from simulator.site import RoutedSite
from simulator.upload import Upload

PER_PAGE = 50


class PanelBox(RoutedSite):
    name = "panelbox"

    def _routes(self) -> Sequence[Route]:
        return [
            Route("/api/series/{key}", self._get_series),
            Route("/api/series/{key}/chapters", self._get_chapters),
            Route("/api/latest", self._get_latest),
        ]

    async def _get_series(self, request: Request) -> Response:
        with self._world.lock:
            series = self._series(request)
            about = {"id": request.path_params["key"], "name": series.title, "author": series.about.author}
            return json_response({"series": about})

    async def _get_chapters(self, request: Request) -> Response:
        with self._world.lock:
            uploads = self._uploads(self._series(request))
            if request.query_params.get("order") == "oldest":
                uploads.reverse()
            rows, following = _page(request, uploads)
            chapters = [_chapter(upload) for upload in rows]
        return json_response({"chapters": chapters, "total": len(uploads), "next": following})

    async def _get_latest(self, request: Request) -> Response:
        with self._world.lock:
            rows, following = _page(request, latest_on(self._world, self.name, self._world.now()))
            items = [self._item(upload) for upload in rows]
        return json_response({"items": items, "next": following})

    def _item(self, upload: Upload) -> dict[str, Any]:
        return {
            "series": series_key(self.name, self._world.series[upload.series_id]),
            "chapter": short_id(upload.id),
            "lang": upload.language,
            "released": int(upload.readable_at.timestamp()),
        }


def _page(request: Request, uploads: Iterable[Upload]) -> tuple[list[Upload], str | None]:
    cursor = request.query_params.get("cursor") or "after-0"
    start = cursor.removeprefix("after-")
    if not start.isdecimal():
        raise HTTPException(400)
    rows = list(islice(uploads, int(start), int(start) + PER_PAGE + 1))
    following = f"after-{int(start) + PER_PAGE}" if len(rows) > PER_PAGE else None
    return rows[:PER_PAGE], following


def _chapter(upload: Upload) -> dict[str, Any]:
    return {
        "id": short_id(upload.id),
        "number": upload.chapter,
        "volume": upload.volume,
        "title": upload.title,
        "lang": upload.language,
        "teams": [{"name": name} for name in upload.groups],
        "released": int(upload.readable_at.timestamp()),
    }
