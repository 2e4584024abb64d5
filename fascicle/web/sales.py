"""The sale queue for clients on other machines (P7): three routes, JSON in and out, one bearer token.

POST /sales/next {client}                        200 with an item and its claim, 204 when there is none
POST /sales/{id}/complete {claim}                200, 409 when another client has the claim by now
POST /sales/{id}/fail {claim, error, retry}      200, 409 likewise
"""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime

import orjson
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fascicle.domain.errors import FascicleError, UsageError
from fascicle.storage.database import transaction
from fascicle.storage.publishing import sale as sales
from fascicle.web.bodies import BodyTooLarge, read_body

_MOST_BYTES = 64 * 1024
_MOST_ID = 2**63 - 1

Handler = Callable[[Request, bytes], Awaitable[Response]]


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class NextBody(_Body):
    client: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00]*$")


class CompleteBody(_Body):
    claim: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00]*$")


class FailBody(CompleteBody):
    error: str = Field(max_length=10_000, pattern=r"^[^\x00]*$")
    retry: bool = True


class SaleRoutes:
    def __init__(
        self,
        engine: AsyncEngine,
        token: SecretStr | None,
        claim_seconds: float,
        clock: Callable[[], datetime],
    ) -> None:
        self._engine = engine
        self._token = token
        self._claim_seconds = claim_seconds
        self._clock = clock

    def routes(self) -> list[Route]:
        return [
            Route("/sales/next", self._guarded(self._next), methods=["POST"]),
            Route("/sales/{id}/complete", self._guarded(self._complete), methods=["POST"]),
            Route("/sales/{id}/fail", self._guarded(self._fail), methods=["POST"]),
        ]

    def _guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                self._check_token(request)
                return await handler(request, await read_body(request, _MOST_BYTES))
            except BodyTooLarge as error:
                return _error(413, "too_large", str(error))
            except _Refused as refused:
                return _error(refused.status, refused.code, refused.message)
            except ValidationError as error:
                problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
                place = ".".join(str(part) for part in problem["loc"]) or "body"
                return _error(400, "invalid_body", f"{place}: {problem['msg']}")
            except sales.ClaimLost as error:
                return _error(409, error.code, error.message)
            except UsageError as error:
                return _error(404, error.code, error.message)
            except FascicleError as error:
                return _error(503 if error.retryable else 500, error.code, "The database cannot be used now.")

        return answer

    def _check_token(self, request: Request) -> None:
        if self._token is None:
            raise _Refused(404, "not_found", "There is nothing here: set FASCICLE_CLIENT_TOKEN.")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        wanted = self._token.get_secret_value().encode()
        # Compared in constant time, before the rest of the request is read.
        right = hmac.compare_digest(given.strip().encode("latin-1"), wanted)
        if scheme.lower() != "bearer" or not right:
            raise _Refused(401, "unauthorized", "Send `Authorization: Bearer` with the client token.")

    async def _next(self, request: Request, body: bytes) -> Response:
        client = NextBody.model_validate_json(body).client
        async with transaction(self._engine) as connection:
            item = await sales.take_next(connection, client, self._clock(), self._claim_seconds)
        return Response(status_code=204) if item is None else _json(asdict(item))

    async def _complete(self, request: Request, body: bytes) -> Response:
        sale_id, claim = _sale_id(request), CompleteBody.model_validate_json(body).claim
        async with transaction(self._engine) as connection:
            state = await sales.complete(connection, sale_id, claim, self._clock())
        return _json({"id": sale_id, "state": state})

    async def _fail(self, request: Request, body: bytes) -> Response:
        sale_id, failure = _sale_id(request), FailBody.model_validate_json(body)
        async with transaction(self._engine) as connection:
            state = await sales.fail(
                connection, sale_id, failure.claim, failure.error, retry=failure.retry, now=self._clock()
            )
        return _json({"id": sale_id, "state": state})


def _sale_id(request: Request) -> int:
    given = request.path_params["id"]
    if not given.isascii() or not given.isdigit() or len(given) > len(str(_MOST_ID)) or int(given) > _MOST_ID:
        raise _Refused(404, "unknown_sale", "A sale's id is a number.")
    return int(given)


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status_code=status, media_type="application/json")


def _error(status: int, code: str, message: str) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    response = _json({"error": {"code": code, "message": message}}, status)
    response.headers.update(headers)
    return response
