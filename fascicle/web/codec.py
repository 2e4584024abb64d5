"""Opens and seals payloads for Temporal's own tools (X5): the `--codec-endpoint` option and the Web UI.

POST /codec/decode, /codec/encode   {"payloads": […]}, answered alike; a bearer token, or a browser's cookie
GET, POST /codec/login              a browser sends the token once and gets that cookie

A cookie is accepted only from pages of the Web UIs that the settings name. No payload is logged.

A payload that cannot be opened is replaced by a sentence that names its key, because `temporal` reports a
refusal only as a timeout after ten seconds. Sent back, the sentence becomes the payload again.
"""

import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs

import orjson
from google.protobuf.json_format import MessageToJson, Parse, ParseError
from google.protobuf.message import DecodeError
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payload, Payloads

from fascicle.settings.payload_keys import PayloadKeys
from fascicle.temporal.payload_codec import SealingCodec, UnreadablePayload
from fascicle.web.bodies import BodyTooLarge, read_body

# A page of history, in base64.
_MOST_BYTES = 8 * 1024 * 1024
_MOST_LOGIN_BYTES = 4096
_LOGIN_SECONDS = 12 * 3600
_COOKIE = "fascicle_codec"
_STANDS_FOR = "fascicle-unreadable"

Handler = Callable[[Request], Awaitable[Response]]

_FORM = """<!doctype html><meta charset="utf-8"><title>Fascicle: codec</title>
<form method="post"><label>Codec token <input name="token" type="password" autofocus></label>
<button>Log in</button></form>
"""


class _Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class CodecRoutes:
    def __init__(
        self,
        keys: PayloadKeys,
        token: SecretStr | None,
        origins: Sequence[str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._codec = SealingCodec(keys)
        # Without keys there is nothing to open; without a token nobody may ask.
        is_on = token is not None and bool(keys.ring.fingerprints)
        self._token = token.get_secret_value().encode() if token is not None and is_on else None
        self._origins = frozenset(origins)
        self._is_behind_tls = bool(origins) and all(one.startswith("https://") for one in origins)
        self._clock = clock

    def routes(self) -> list[Route]:
        asked = ["POST", "OPTIONS"]
        return [
            Route("/codec/decode", self._for_tools(self._decode), methods=asked),
            Route("/codec/encode", self._for_tools(self._encode), methods=asked),
            Route("/codec/login", self._told(self._login), methods=["GET", "POST"]),
        ]

    async def _decode(self, request: Request) -> Response:
        given = await _payloads(request)
        return _answer([await self._shown(payload) for payload in given.payloads])

    async def _encode(self, request: Request) -> Response:
        given = await _payloads(request)
        return _answer([await self._kept(payload) for payload in given.payloads])

    async def _shown(self, payload: Payload) -> Payload:
        try:
            (opened,) = await self._codec.decode([payload])
        except UnreadablePayload as error:
            sentence = {"encoding": b"json/plain", _STANDS_FOR: payload.SerializeToString()}
            return Payload(metadata=sentence, data=orjson.dumps(error.message))
        return opened

    async def _kept(self, payload: Payload) -> Payload:
        if original := payload.metadata.get(_STANDS_FOR):
            try:
                return Payload.FromString(original)
            except DecodeError:
                raise _Refused(400, "That stands for no payload of ours.") from None
        (sealed,) = await self._codec.encode([payload])
        return sealed

    def _for_tools(self, handler: Handler) -> Handler:
        async def allowed(request: Request) -> Response:
            if request.method == "OPTIONS":  # a browser's preflight request has no credentials
                return Response(status_code=204)
            self._check_caller(request)
            return await handler(request)

        async def answer(request: Request) -> Response:
            response = await self._told(allowed)(request)
            response.headers.update(self._leave_for(request))
            return response

        return answer

    def _told(self, handler: Handler) -> Handler:
        """Turns a refusal into a sentence for people."""

        async def answer(request: Request) -> Response:
            try:
                self._check_is_on()
                return await handler(request)
            except _Refused as refused:
                needs = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else None
                return PlainTextResponse(str(refused), refused.status, needs)
            except BodyTooLarge as error:
                return PlainTextResponse(str(error), 413)

        return answer

    def _check_is_on(self) -> None:
        if self._token is None:
            raise _Refused(404, "There is nothing here: set FASCICLE_PAYLOAD_KEYS and FASCICLE_CODEC_TOKEN.")

    def _check_caller(self, request: Request) -> None:
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._origins:
            raise _Refused(403, "Pages of this address may not ask: add it to FASCICLE_CODEC_ORIGINS.")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return
        # A cookie counts only with an origin, which browsers send and pages cannot forge.
        if origin is not None and self._is_login(request.cookies.get(_COOKIE, "")):
            return
        raise _Refused(
            401,
            "Send `Authorization: Bearer` with the codec token, or log in at /codec/login with a browser.",
        )

    def _leave_for(self, request: Request) -> dict[str, str]:
        """The headers that let a Web UI's page, and no other, read the answer."""
        origin = request.headers.get("origin")
        if origin not in self._origins or origin is None:
            return {"Vary": "Origin"}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Credentials": "true",
            "Access-Control-Allow-Methods": "POST",
            "Access-Control-Allow-Headers": "authorization, authorization-extras, content-type, x-namespace",
        }

    async def _login(self, request: Request) -> Response:
        closed = {"Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'"}
        if request.method == "GET":
            return HTMLResponse(_FORM, headers=closed)
        form = parse_qs((await read_body(request, _MOST_LOGIN_BYTES)).decode("latin-1"))
        if not self._is_token(form.get("token", [""])[0]):
            raise _Refused(401, "That is not the codec token.")
        response = PlainTextResponse(
            "Logged in. The Web UI may decode payloads in this browser for 12 hours."
        )
        response.set_cookie(
            _COOKIE,
            self._new_login(),
            max_age=_LOGIN_SECONDS,
            path="/codec",
            # Behind a proxy this request is plain HTTP; the origins tell whether the browser uses TLS.
            secure=request.url.scheme == "https" or self._is_behind_tls,
            httponly=True,
            samesite="strict",
        )
        return response

    def _is_token(self, given: str) -> bool:
        wanted = self._token or b""
        return bool(wanted) and hmac.compare_digest(given.encode(errors="replace"), wanted)

    def _new_login(self) -> str:
        """A signed expiry time: not the token itself, and invalid after its time or a change of the token."""
        until = str(int(self._clock()) + _LOGIN_SECONDS)
        return f"{until}.{self._signature(until)}"

    def _is_login(self, cookie: str) -> bool:
        until, _, signature = cookie.partition(".")
        right = hmac.compare_digest(signature.encode(errors="replace"), self._signature(until).encode())
        return right and int(until) > self._clock()

    def _signature(self, until: str) -> str:
        return hmac.new(self._token or b"", f"codec login until {until}".encode(), hashlib.sha256).hexdigest()


async def _payloads(request: Request) -> Payloads:
    try:
        return Parse(await read_body(request, _MOST_BYTES), Payloads())
    except (ParseError, UnicodeDecodeError):
        # Without the parser's message, which quotes its input.
        raise _Refused(400, 'Send {"payloads": […]} as Temporal writes it in JSON.') from None


def _answer(payloads: Sequence[Payload]) -> Response:
    body = MessageToJson(Payloads(payloads=payloads), indent=None)
    return Response(body, media_type="application/json")
