"""The press routes of the control API."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.control_parts import Table, read_json, validated
from simulator.press.press import Press
from simulator.press.records import Article, ArticleSpec


class PressControl:
    def __init__(self, press: Press) -> None:
        self._press = press

    def table(self) -> Table:
        return [
            ("GET", "/press/articles", self._list),
            ("POST", "/press/articles", self._add),
            ("DELETE", "/press/articles/{slug}", self._remove),
            ("DELETE", "/press", self._clear),
        ]

    async def _list(self, request: Request) -> Response:
        return json_response([_fields(article) for article in self._press.articles()])

    async def _add(self, request: Request) -> Response:
        content = await read_json(request)
        wanted = content if isinstance(content, list) else [content]
        specs = [validated(ArticleSpec, item) for item in wanted]
        return json_response([_fields(self._press.add(spec)) for spec in specs], 201)

    async def _remove(self, request: Request) -> Response:
        return json_response(_fields(self._press.remove(request.path_params["slug"])))

    async def _clear(self, request: Request) -> Response:
        self._press.clear()
        return json_response({"status": "ok"})


def _fields(article: Article) -> dict[str, Any]:
    return article.model_dump(mode="json")
