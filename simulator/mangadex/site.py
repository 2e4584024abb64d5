"""MangaDex as an upstream: its routes, its requirements and its errors."""

from collections.abc import Sequence
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer, json_response
from simulator.ids import slug
from simulator.mangadex import manga, render
from simulator.mangadex.aggregate import aggregate
from simulator.mangadex.chapters import INCLUDES, ChapterQuery, read_feed_query, read_list_query, select_page
from simulator.mangadex.errors import ApiError, error_answer
from simulator.mangadex.parameters import Parameters
from simulator.series import Series
from simulator.world import World


def title_page(series: Series) -> str:
    """The series' page on the real site's address."""
    return f"https://mangadex.org/title/{series.id}/{slug(series.title)}"


class MangaDex:
    prefix = "/mangadex"

    def __init__(self, world: World) -> None:
        self._world = world
        self._renderer = render.ChapterRenderer()
        routes = [
            Route("/manga", self._list_manga),
            Route("/manga/{id}", self._get_manga),
            Route("/manga/{id}/feed", self._get_feed),
            Route("/manga/{id}/aggregate", self._get_aggregate),
            Route("/chapter", self._list_chapters),
            Route("/chapter/{id}", self._get_chapter),
        ]
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            _check_manners(dict(scope["headers"]))
            await self._router(scope, receive, send)
        except ApiError as error:
            await error_answer(error)(scope, receive, send)
        except HTTPException as error:
            refusal = ApiError(error.status_code, f'No route found for "{scope["method"]} {scope["path"]}"')
            await error_answer(refusal)(scope, receive, send)

    def error(self, status: int, retry_after: str | None) -> Answer:
        return error_answer(ApiError(status, "simulated"), retry_after)

    async def _list_manga(self, request: Request) -> Response:
        query = manga.read_manga_query(_parameters(request))
        with self._world.lock:
            page, total = manga.select_series(self._world, query)
            now = self._world.now()
            data = [render.manga(series, query.includes, now) for series in page]
        return _collection(data, query.limit, query.offset, total)

    async def _get_manga(self, request: Request) -> Response:
        parameters = _parameters(request)
        includes = parameters.texts("includes", manga.INCLUDES)
        parameters.refuse_rest()
        with self._world.lock:
            return _entity(render.manga(self._series(request), includes, self._world.now()))

    async def _get_feed(self, request: Request) -> Response:
        with self._world.lock:
            return self._chapters(read_feed_query(_parameters(request), self._series(request).id))

    async def _list_chapters(self, request: Request) -> Response:
        return self._chapters(read_list_query(_parameters(request)))

    def _chapters(self, query: ChapterQuery) -> Response:
        world = self._world
        with world.lock:
            page, total = select_page(world, query)
            now = world.now()
            data = [
                self._renderer.chapter(upload, world.series[upload.series_id], query.includes, now)
                for upload in page
            ]
        return _collection(data, query.limit, query.offset, total)

    async def _get_chapter(self, request: Request) -> Response:
        parameters = _parameters(request)
        includes = parameters.texts("includes", INCLUDES)
        parameters.refuse_rest()
        world = self._world
        with world.lock:
            upload = world.index.get(request.path_params["id"].lower())
            if upload is None or "mangadex" not in upload.sites:
                raise ApiError(404, "Chapter not found")
            series = world.series[upload.series_id]
            return _entity(self._renderer.chapter(upload, series, includes, world.now()))

    async def _get_aggregate(self, request: Request) -> Response:
        with self._world.lock:
            return json_response(aggregate(self._series(request), _parameters(request)))

    def _series(self, request: Request) -> Series:
        series = self._world.series.get(request.path_params["id"].lower())
        if series is None or "mangadex" not in series.about.sites:
            raise ApiError(404, "Manga could not be found")
        return series


def _check_manners(headers: dict[bytes, bytes]) -> None:
    if not headers.get(b"user-agent", b"").strip():
        raise ApiError(403, "A User-Agent header is required")
    if b"via" in headers:
        raise ApiError(400, "The Via header is not allowed")


def _parameters(request: Request) -> Parameters:
    return Parameters(request.scope["query_string"])


def _entity(data: render.Json | orjson.Fragment) -> Response:
    return json_response({"result": "ok", "response": "entity", "data": data})


def _collection(data: Sequence[Any], limit: int, offset: int, total: int) -> Response:
    return json_response(
        {
            "result": "ok",
            "response": "collection",
            "data": data,
            "limit": limit,
            "offset": offset,
            "total": total,
        }
    )
