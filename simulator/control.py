"""The control API: other processes script the world and read the records through it."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from simulator.answers import json_response
from simulator.ao3.control import Ao3Control
from simulator.catalogue import addresses
from simulator.control_parts import ControlError, Table, answering_errors, read, read_json, validated
from simulator.deviantart.control import DeviantArtControl
from simulator.discord.control import DiscordControl
from simulator.faults import Fault
from simulator.feeds.control import FeedsControl
from simulator.firecrawl.control import FirecrawlControl
from simulator.llm.control import LlmControl
from simulator.mangadex import MangaDex, title_page
from simulator.press.control import PressControl
from simulator.rate_limit import RateLimit
from simulator.series import Series
from simulator.simulation import Simulation, WorldName
from simulator.specs import SeriesSpec, UploadSpec
from simulator.world import UnknownUploadError


class Reset(BaseModel):
    model_config = ConfigDict(extra="forbid")

    world: WorldName = "empty"


class Release(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: int | None = None
    drop: bool = False


class Control:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._world = simulation.world

    def routes(self, prefix: str) -> Sequence[BaseRoute]:
        one_chapter = "/series/{id}/chapters/{upload_id}"
        table: Table = [
            ("GET", "/health", self._health),
            ("POST", "/reset", self._reset),
            ("GET", "/series", self._list_series),
            ("POST", "/series", self._add_series),
            ("DELETE", "/series/{id}", self._remove_series),
            ("GET", "/series/{id}/chapters", self._list_uploads),
            ("POST", "/series/{id}/chapters", self._release),
            ("PATCH", one_chapter, self._revise),
            ("DELETE", one_chapter, self._withdraw),
            ("GET", "/faults", self._list_faults),
            ("POST", "/faults", self._add_fault),
            ("DELETE", "/faults", self._clear_faults),
            ("POST", "/faults/release", self._release_held),
            ("POST", "/rate_limit", self._set_rate_limit),
            ("GET", "/requests", self._list_requests),
            ("DELETE", "/requests", self._clear_requests),
            ("GET", "/sink", self._list_messages),
            ("GET", "/sink/{name}", self._list_messages),
            ("DELETE", "/sink", self._clear_messages),
            *DeviantArtControl(self._simulation.deviantart).table(),
            *Ao3Control(self._simulation.ao3).table(),
            *DiscordControl(self._simulation.discord).table(),
            *FeedsControl(self._simulation.feeds).table(),
            *LlmControl(self._simulation.llm).table(),
            *FirecrawlControl(self._simulation.firecrawl).table(),
            *PressControl(self._simulation.press).table(),
        ]
        return [
            Mount(
                prefix,
                routes=[Route(path, answering_errors(end), methods=[verb]) for verb, path, end in table],
            )
        ]

    async def _health(self, request: Request) -> Response:
        return json_response({"status": "ok", "series": len(self._world.series)})

    async def _reset(self, request: Request) -> Response:
        self._simulation.reset((await read(request, Reset)).world)
        return json_response({"status": "ok"})

    async def _list_series(self, request: Request) -> Response:
        with self._world.lock:
            return json_response([_summary(request, series) for series in self._world.series.values()])

    async def _add_series(self, request: Request) -> Response:
        series = self._world.add_series(await read(request, SeriesSpec))
        return json_response(_addresses(request, series), 201)

    async def _remove_series(self, request: Request) -> Response:
        self._world.remove_series(request.path_params["id"])
        return json_response({"status": "ok"})

    async def _list_uploads(self, request: Request) -> Response:
        with self._world.lock:
            return json_response(self._world.find_series(request.path_params["id"]).uploads)

    async def _release(self, request: Request) -> Response:
        content = await read_json(request)
        wanted = content if isinstance(content, list) else [content]
        specs = [validated(UploadSpec, item) for item in wanted]
        return json_response(self._world.release(request.path_params["id"], *specs), 201)

    async def _revise(self, request: Request) -> Response:
        self._check_upload(request)
        return json_response(
            self._world.revise(request.path_params["upload_id"], await read(request, UploadSpec))
        )

    async def _withdraw(self, request: Request) -> Response:
        self._check_upload(request)
        return json_response(self._world.withdraw(request.path_params["upload_id"]))

    def _check_upload(self, request: Request) -> None:
        upload = self._world.find_upload(request.path_params["upload_id"])
        if upload.series_id != request.path_params["id"]:
            raise UnknownUploadError(f"upload {upload.id} belongs to series {upload.series_id}")

    async def _list_faults(self, request: Request) -> Response:
        return json_response([report.model_dump() for report in self._simulation.faults.reports()])

    async def _add_fault(self, request: Request) -> Response:
        armed = self._simulation.faults.add(await read(request, Fault))
        return json_response(armed.report().model_dump(), 201)

    async def _clear_faults(self, request: Request) -> Response:
        self._simulation.faults.clear()
        return json_response({"status": "ok"})

    async def _release_held(self, request: Request) -> Response:
        wanted = await read(request, Release)
        return json_response({"released": self._simulation.faults.release(wanted.id, drop=wanted.drop)})

    async def _set_rate_limit(self, request: Request) -> Response:
        limit = await read(request, RateLimit)
        self._simulation.rate_limits.set(limit)
        return json_response(limit.model_dump())

    async def _list_requests(self, request: Request) -> Response:
        since = request.query_params.get("since", "0")
        try:
            earliest = float(since)
        except ValueError:
            raise ControlError(f"since: {since!r} is not a UNIX time in seconds") from None
        path = request.query_params.get("path", "/")
        return json_response(self._simulation.requests.matching(path, earliest))

    async def _clear_requests(self, request: Request) -> Response:
        self._simulation.requests.clear()
        return json_response({"status": "ok"})

    async def _list_messages(self, request: Request) -> Response:
        return json_response(self._simulation.sink.messages(request.path_params.get("name")))

    async def _clear_messages(self, request: Request) -> Response:
        self._simulation.sink.clear()
        return json_response({"status": "ok"})


def _addresses(request: Request, series: Series) -> dict[str, Any]:
    base = f"{request.url.scheme}://{request.url.netloc}"
    return {
        "id": series.id,
        "url": f"{base}{MangaDex.prefix}/manga/{series.id}",
        "site_url": title_page(series),
        "pages": addresses(base, series),
    }


def _summary(request: Request, series: Series) -> dict[str, Any]:
    return {
        **_addresses(request, series),
        "title": series.title,
        "status": series.about.status,
        "languages": series.available_languages,
        "uploads": len(series.index),
        "next_chapter": series.next_chapter()[0],
    }
