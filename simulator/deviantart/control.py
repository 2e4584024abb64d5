"""The DeviantArt routes of the control API."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.control_parts import ControlError, Table, read, read_json, validated
from simulator.deviantart.records import DEFAULT_SCOPE, AccountLimit, Options
from simulator.deviantart.studio import Studio


class NewAccount(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    scope: str = DEFAULT_SCOPE
    auto_approve: bool | None = None


class Revocation(BaseModel):
    model_config = ConfigDict(extra="forbid")

    refresh_only: bool = False


class HandMade(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    at: float | None = None


class DeviantArtControl:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio

    def table(self) -> Table:
        account = "/deviantart/accounts/{name}"
        return [
            ("GET", "/deviantart/options", self._get_options),
            ("POST", "/deviantart/options", self._configure),
            ("POST", "/deviantart/accounts", self._add_account),
            ("GET", f"{account}/tokens", self._current_tokens),
            ("POST", f"{account}/expire", self._expire),
            ("POST", f"{account}/revoke", self._revoke),
            ("POST", f"{account}/limit", self._limit),
            ("POST", f"{account}/deviations", self._post_by_hand),
            ("GET", "/deviantart/published", self._published),
            ("GET", "/deviantart/submissions", self._submissions),
            ("GET", "/deviantart/orphans", self._orphans),
            ("GET", "/deviantart/refreshes", self._refreshes),
            ("DELETE", "/deviantart", self._clear),
        ]

    async def _get_options(self, request: Request) -> Response:
        return _plain(self._studio.options)

    async def _configure(self, request: Request) -> Response:
        changes = await read_json(request)
        if not isinstance(changes, dict):
            raise ControlError("options are a JSON object")
        validated(Options, {**self._studio.options.model_dump(), **changes})
        return _plain(self._studio.configure(**changes))

    async def _add_account(self, request: Request) -> Response:
        wanted = await read(request, NewAccount)
        pair = self._studio.tokens.add_account(
            wanted.name, scope=wanted.scope, auto_approve=wanted.auto_approve
        )
        return _plain(pair, 201)

    async def _current_tokens(self, request: Request) -> Response:
        name = self._studio.account(request.path_params["name"]).name
        pair = self._studio.tokens.current(name)
        return json_response(None) if pair is None else _plain(pair)

    async def _expire(self, request: Request) -> Response:
        return json_response({"expired": self._studio.tokens.expire_access(request.path_params["name"])})

    async def _revoke(self, request: Request) -> Response:
        wanted = await read(request, Revocation)
        self._studio.tokens.revoke_account(request.path_params["name"], refresh_only=wanted.refresh_only)
        return json_response({"status": "ok"})

    async def _limit(self, request: Request) -> Response:
        limit = await read(request, AccountLimit)
        self._studio.limit_account(request.path_params["name"], limit)
        return _plain(limit)

    async def _post_by_hand(self, request: Request) -> Response:
        wanted = await read(request, HandMade)
        return _plain(self._studio.post_by_hand(request.path_params["name"], wanted.title, wanted.at), 201)

    async def _published(self, request: Request) -> Response:
        return _plain_list(self._studio.published(_account(request)))

    async def _submissions(self, request: Request) -> Response:
        return _plain_list(self._studio.submissions(_account(request)))

    async def _orphans(self, request: Request) -> Response:
        return _plain_list(self._studio.orphans(_account(request)))

    async def _refreshes(self, request: Request) -> Response:
        return _plain_list(self._studio.refreshes(_account(request)))

    async def _clear(self, request: Request) -> Response:
        self._studio.clear()
        return json_response({"status": "ok"})


def _account(request: Request) -> str | None:
    return request.query_params.get("account")


def _plain(record: BaseModel, status: int = 200) -> Response:
    return json_response(record.model_dump(mode="json"), status)


def _plain_list(records: Sequence[BaseModel]) -> Response:
    return json_response([record.model_dump(mode="json") for record in records])
