"""The feed routes of the control API."""

from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.control_parts import Table, read, read_json, validated
from simulator.feeds.newsroom import Newsroom
from simulator.feeds.records import EntryPatch, EntrySpec, FeedPatch, FeedSpec


class FeedsControl:
    def __init__(self, newsroom: Newsroom) -> None:
        self._newsroom = newsroom

    def table(self) -> Table:
        one_entry = "/feeds/{name}/entries/{entry:int}"
        return [
            ("GET", "/feeds", self._list_feeds),
            ("POST", "/feeds", self._add_feed),
            ("PATCH", "/feeds/{name}", self._change_feed),
            ("GET", "/feeds/{name}/entries", self._list_entries),
            ("POST", "/feeds/{name}/entries", self._add_entries),
            ("PATCH", one_entry, self._change_entry),
            ("DELETE", one_entry, self._remove_entry),
        ]

    async def _list_feeds(self, request: Request) -> Response:
        return json_response([feed.model_dump(mode="json") for feed in self._newsroom.feeds()])

    async def _add_feed(self, request: Request) -> Response:
        feed = self._newsroom.add_feed(await read(request, FeedSpec))
        return json_response(feed.model_dump(mode="json"), 201)

    async def _change_feed(self, request: Request) -> Response:
        change = await read(request, FeedPatch)
        feed = self._newsroom.change_feed(request.path_params["name"], change)
        return json_response(feed.model_dump(mode="json"))

    async def _list_entries(self, request: Request) -> Response:
        entries = self._newsroom.entries(request.path_params["name"])
        return json_response([entry.model_dump(mode="json") for entry in entries])

    async def _add_entries(self, request: Request) -> Response:
        content = await read_json(request)
        wanted = content if isinstance(content, list) else [content]
        specs = [validated(EntrySpec, item) for item in wanted]
        added = self._newsroom.add_entries(request.path_params["name"], specs)
        return json_response([entry.model_dump(mode="json") for entry in added], 201)

    async def _change_entry(self, request: Request) -> Response:
        change = await read(request, EntryPatch)
        entry = self._newsroom.change_entry(*_place(request), change)
        return json_response(entry.model_dump(mode="json"))

    async def _remove_entry(self, request: Request) -> Response:
        return json_response(self._newsroom.remove_entry(*_place(request)).model_dump(mode="json"))


def _place(request: Request) -> tuple[str, int]:
    return request.path_params["name"], request.path_params["entry"]
