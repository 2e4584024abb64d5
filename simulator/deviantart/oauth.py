"""DeviantArt's OAuth 2.1 endpoints: approving, exchanging, refreshing, revoking."""

import base64
import binascii
from html import escape
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from simulator.answers import json_response
from simulator.deviantart.errors import ApiError
from simulator.deviantart.parameters import flag, gather, read_form, text
from simulator.deviantart.records import FormValues, TokenPair
from simulator.deviantart.studio import Studio
from simulator.site import html_page


class OAuth:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._tokens = studio.tokens

    def routes(self) -> list[Route]:
        return [
            Route("/oauth2/authorize", self._authorize, methods=["GET"]),
            Route("/oauth2/token", self._token, methods=["POST"]),
            Route("/oauth2/revoke", self._revoke, methods=["POST"]),
        ]

    async def _authorize(self, request: Request) -> Response:
        """`account` names the user; `approve=1` or `deny=1` is the button that the user pressed."""
        values = gather(request.query_params.multi_items())
        self._check_authorization(values)
        name = text(values, "account") or self._studio.options.default_account
        account = self._studio.open_account(name)
        if flag(values, "deny"):
            return _back(values, error="access_denied", error_description="The user denied the request.")
        if not (flag(values, "approve") or account.auto_approve):
            return _approval_page(request, name)
        scope = text(values, "scope") or "basic"
        code = self._tokens.authorize(
            name, text(values, "redirect_uri"), scope, text(values, "code_challenge")
        )
        return _back(values, code=code)

    def _check_authorization(self, values: FormValues) -> None:
        if text(values, "client_id") != self._studio.options.client_id:
            raise ApiError("The client is invalid.", error="invalid_client")
        if urlsplit(text(values, "redirect_uri")).scheme not in ("http", "https"):
            raise ApiError("The redirect_uri is invalid.")
        if text(values, "response_type") != "code":
            raise ApiError("Only response_type=code is supported.", error="unsupported_response_type")
        if text(values, "code_challenge_method") != "S256" or len(text(values, "code_challenge")) != 43:
            raise ApiError("A code_challenge of method S256 is required.")

    async def _token(self, request: Request) -> Response:
        form = await read_form(request)
        self._check_client(request, form)
        match text(form, "grant_type"):
            case "authorization_code":
                redirect_uri, verifier = text(form, "redirect_uri"), text(form, "code_verifier")
                return _token_answer(self._tokens.exchange(text(form, "code"), redirect_uri, verifier))
            case "refresh_token":
                return _token_answer(self._tokens.refresh(text(form, "refresh_token")))
        raise ApiError("This grant_type is not supported.", error="unsupported_grant_type")

    async def _revoke(self, request: Request) -> Response:
        form = await read_form(request)
        if not text(form, "token"):
            raise ApiError("A token is required.")
        self._tokens.revoke(text(form, "token"), refresh_only=flag(form, "revoke_refresh_only"))
        return json_response({"success": True})

    def _check_client(self, request: Request, form: FormValues) -> None:
        options = self._studio.options
        given = _basic_credentials(request) or (text(form, "client_id"), text(form, "client_secret"))
        if given != (options.client_id, options.client_secret):
            raise ApiError("The client credentials are invalid.", status=401, error="invalid_client")


def _basic_credentials(request: Request) -> tuple[str, str] | None:
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        client_id, _, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return client_id, secret


def _token_answer(pair: TokenPair) -> Response:
    return json_response(
        {
            "status": "success",
            "access_token": pair.access_token,
            "token_type": "Bearer",
            "expires_in": pair.expires_in,
            "refresh_token": pair.refresh_token,
            "scope": pair.scope,
        }
    )


def _back(values: FormValues, **result: str) -> Response:
    """Redirect the browser to the client's `redirect_uri`."""
    if state := text(values, "state"):
        result["state"] = state
    address = text(values, "redirect_uri")
    return RedirectResponse(f"{address}{'&' if '?' in address else '?'}{urlencode(result)}", 302)


def _approval_page(request: Request, account: str) -> Response:
    kept = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in request.query_params.multi_items()
        if name not in ("approve", "deny")
    )
    return html_page(
        "Authorize - DeviantArt",
        f"<h1>May this application act for {escape(account)}?</h1>",
        f'<form method="get">{kept}',
        '<button name="approve" value="1">Authorize</button>',
        '<button name="deny" value="1">Deny</button></form>',
    )
