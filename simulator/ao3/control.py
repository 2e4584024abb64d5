"""The AO3 routes of the control API."""

from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.ao3.archive import Archive
from simulator.ao3.records import Ao3SeriesSpec, WorkSpec
from simulator.control_parts import Table, read


class Ao3Control:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def table(self) -> Table:
        return [
            ("POST", "/ao3/works", self._add_work),
            ("PATCH", "/ao3/works/{id:int}", self._update_work),
            ("POST", "/ao3/series", self._add_series),
        ]

    async def _add_work(self, request: Request) -> Response:
        work = self._archive.add_work(await read(request, WorkSpec))
        return json_response(work.model_dump(mode="json"), 201)

    async def _update_work(self, request: Request) -> Response:
        change = await read(request, WorkSpec)
        work = self._archive.update_work(request.path_params["id"], change)
        return json_response(work.model_dump(mode="json"))

    async def _add_series(self, request: Request) -> Response:
        series = self._archive.add_series(await read(request, Ao3SeriesSpec))
        return json_response(series.model_dump(mode="json", exclude={"parts"}), 201)
