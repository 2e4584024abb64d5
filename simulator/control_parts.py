"""Shared code of the control API: reading bodies, answering errors."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.deviantart.ledger import UnknownAccountError
from simulator.world import UnknownSeriesError, UnknownUploadError, WorldError

Model = TypeVar("Model", bound=BaseModel)
Endpoint = Callable[[Request], Awaitable[Response]]
Table = list[tuple[str, str, Endpoint]]


class ControlError(Exception):
    pass


def answering_errors(endpoint: Endpoint) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (UnknownSeriesError, UnknownUploadError, UnknownAccountError) as error:
            return json_response({"error": str(error)}, 404)
        except (ControlError, WorldError) as error:
            return json_response({"error": str(error)}, 422)

    return answer


async def read(request: Request, model: type[Model]) -> Model:
    return validated(model, await read_json(request))


async def read_json(request: Request) -> Any:
    """The body; an empty body is an empty object, since most fields have defaults."""
    try:
        return orjson.loads(await request.body() or b"{}")
    except orjson.JSONDecodeError as error:
        raise ControlError(f"not JSON: {error}") from None


def validated(model: type[Model], content: Any) -> Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc'])) or 'body'}: {problem['msg']}" for problem in error.errors()
        ]
        raise ControlError("; ".join(problems)) from None
