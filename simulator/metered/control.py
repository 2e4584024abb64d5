"""The control API's routes for a paid upstream."""

from typing import Generic

from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.control_parts import ControlError, Table, read_json, validated
from simulator.metered.ledger import CallT
from simulator.metered.service import OptionsT, ScriptT, Service


class MeteredControl(Generic[OptionsT, ScriptT, CallT]):
    def __init__(
        self, name: str, service: Service[OptionsT, ScriptT, CallT], script_type: type[ScriptT]
    ) -> None:
        self._name = name
        self._service = service
        self._script_type = script_type

    def table(self) -> Table:
        base = f"/{self._name}"
        return [
            ("GET", f"{base}/options", self._get_options),
            ("POST", f"{base}/options", self._configure),
            ("POST", f"{base}/scripts", self._script),
            ("DELETE", f"{base}/scripts", self._unscript),
            ("GET", f"{base}/calls", self._calls),
            ("GET", f"{base}/tally", self._tally),
            ("DELETE", base, self._clear),
        ]

    async def _get_options(self, request: Request) -> Response:
        return json_response(self._service.options.model_dump(mode="json"))

    async def _configure(self, request: Request) -> Response:
        changes = await read_json(request)
        if not isinstance(changes, dict):
            raise ControlError("options are a JSON object")
        options = self._service.options
        validated(type(options), {**options.model_dump(), **changes})
        return json_response(self._service.configure(**changes).model_dump(mode="json"))

    async def _script(self, request: Request) -> Response:
        content = await read_json(request)
        wanted = content if isinstance(content, list) else [content]
        scripts = [validated(self._script_type, item) for item in wanted]
        self._service.script(*scripts)
        return json_response([script.model_dump(mode="json") for script in scripts], 201)

    async def _unscript(self, request: Request) -> Response:
        self._service.unscript()
        return json_response({"status": "ok"})

    async def _calls(self, request: Request) -> Response:
        return json_response([call.model_dump(mode="json") for call in self._service.calls()])

    async def _tally(self, request: Request) -> Response:
        return json_response(self._service.tally().model_dump())

    async def _clear(self, request: Request) -> Response:
        self._service.clear()
        return json_response({"status": "ok"})
