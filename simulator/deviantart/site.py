"""DeviantArt as an upstream: its routes, the scopes they need, its errors."""

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer, UnreadBody, json_response
from simulator.deviantart.errors import ApiError, edge_refusal, status_answer
from simulator.deviantart.gallery import Gallery, user
from simulator.deviantart.oauth import OAuth
from simulator.deviantart.records import Token
from simulator.deviantart.stash import Stash
from simulator.deviantart.studio import Studio

API = "/api/v1/oauth2"
Endpoint = Callable[[Request, Token], Awaitable[Response]]


class DeviantArt:
    prefix = "/deviantart"

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        stash, gallery = Stash(studio), Gallery(studio)
        table: list[tuple[str, str, Endpoint, tuple[str, ...]]] = [
            ("GET", "/placebo", _placebo, ()),
            # Documented as scope user; the real site has accepted tokens of scope basic too.
            ("GET", "/user/whoami", self._whoami, ("user|basic",)),
            ("POST", "/stash/submit", stash.submit, ("stash",)),
            ("POST", "/stash/publish", stash.publish, ("stash", "publish")),
            ("GET", "/gallery/all", gallery.all, ("browse",)),
            ("GET", "/deviation/metadata", gallery.metadata, ("browse",)),
            ("GET", "/deviation/{id}", gallery.deviation, ("browse",)),
        ]
        routes = OAuth(studio).routes()
        routes += [
            Route(f"{API}{path}", self._guarded(endpoint, scopes), methods=[verb])
            for verb, path, endpoint, scopes in table
        ]
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = UnreadBody(receive)
        try:
            refusal = await self._run(scope, body.receive, send)
        except ClientDisconnect:
            # The request was incomplete, so nothing was stored.
            return
        if refusal:
            # A client that is refused while it still writes its file would see a broken connection.
            await body.read_rest()
            await refusal(scope, receive, send)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        """Answer the request, or return the refusal to send after the body was read."""
        if not dict(scope["headers"]).get(b"user-agent", b"").strip():
            return edge_refusal()
        try:
            await self._router(scope, receive, send)
        except ApiError as error:
            return error.answer()
        except HTTPException as error:
            return ApiError("Api endpoint not found.", status=error.status_code).answer()
        return None

    def error(self, status: int, retry_after: str | None) -> Answer:
        return status_answer(status, retry_after)

    def _guarded(
        self, endpoint: Endpoint, scopes: tuple[str, ...]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            holder = self._holder(request)
            granted = set(holder.scope.split())
            if not all(granted & set(scope.split("|")) for scope in scopes):
                raise ApiError("The token lacks a scope.", status=403, error="insufficient_scope")
            return await endpoint(request, holder)

        return answer

    def _holder(self, request: Request) -> Token:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        holder = self._studio.tokens.holder(given.strip()) if scheme.lower() == "bearer" else None
        if holder is None:
            raise ApiError("Expired oAuth2 user token.", status=401, error="invalid_token")
        if limit := self._studio.limits.refusal(holder.account):
            retry_after = None if limit.retry_after is None else str(limit.retry_after)
            raise ApiError(
                "User API Threshold.", status=429, error="user_api_threshold", retry_after=retry_after
            )
        return holder

    async def _whoami(self, request: Request, holder: Token) -> Response:
        return json_response(user(self._studio.account(holder.account)))


async def _placebo(request: Request, holder: Token) -> Response:
    return json_response({"status": "success"})
