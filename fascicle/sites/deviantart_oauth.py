"""DeviantArt's OAuth2: how an account is connected and its tokens are renewed (P6).

A refresh token is good for one use: an answer that is lost has probably used it up. Nothing here is retried,
and no answer of the token endpoint is ever quoted: any piece of it may be a token.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import orjson

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.domain.gate import GatePolicy
from fascicle.runtime.http import Answer, Gated, HttpClient, retry_after

SITE = "deviantart"
SCOPES = ("basic", "stash", "publish", "browse")
HEADERS = {"dA-minor-version": "20240701"}
# DeviantArt does not say how long a refresh token lasts; its documentation does.
REFRESH_SECONDS = 90 * 86400.0
# Without a Retry-After, which is the rule there.
_WAIT_SECONDS = 60.0
_BAN_SECONDS = 300.0
_DEAD_TOKEN = ("invalid_request", "invalid_grant")
_WRONG_CLIENT = ("invalid_client", "unauthorized_client")


# What a refusal means for what was asked: from DeviantArt's word for it, and the status.
Refusal = Callable[[str, int], FascicleError]


@dataclass(frozen=True)
class TokenPair:
    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    access_seconds: float
    refresh_seconds: float = REFRESH_SECONDS


@dataclass(frozen=True)
class Person:
    site_user_id: str
    name: str


@dataclass(frozen=True)
class Invitation:
    """One attempt to connect: `state` comes back with the code, `verifier` proves that the asker was us."""

    url: str
    redirect_uri: str
    state: str
    verifier: str = field(repr=False)


def account_gate(account_id: str, policy: GatePolicy) -> Gated:
    """The gate that everything of one account passes."""
    return Gated(f"{SITE}:{account_id}", policy)


class DeviantArtOAuth:
    def __init__(
        self,
        http: HttpClient,
        *,
        base_url: str,
        client_id: str | None,
        client_secret: str | None,
        policy: GatePolicy,
    ) -> None:
        self._http = http
        self._base = base_url
        self._client_id = client_id
        self._client_secret = client_secret
        self._policy = policy

    def invite(self, redirect_uri: str) -> Invitation:
        """The address where a person allows us to act for their account."""
        client_id, _ = self._client()
        state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(SCOPES),
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return Invitation(f"{self._base}/oauth2/authorize?{urlencode(query)}", redirect_uri, state, verifier)

    async def exchange(self, code: str, invitation: Invitation) -> TokenPair:
        form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", invitation.redirect_uri),
            ("code_verifier", invitation.verifier),
        ]
        pair = await self._token(form, self._site_gate, refused=_code_refused)
        if pair.refresh_token is None:
            raise PermanentError("no_refresh_token", "DeviantArt gave no refresh token: connect again.")
        return pair

    async def refresh(self, account_id: str, refresh_token: str) -> TokenPair:
        form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)]
        return await self._token(form, account_gate(account_id, self._policy), refused=_refresh_refused)

    async def whoami(self, access_token: str) -> Person:
        answer = await self._api("user/whoami", access_token, self._site_gate)
        found = _object(answer)
        user_id, name = found.get("userid"), found.get("username")
        if not isinstance(user_id, str) or not isinstance(name, str) or not user_id or not name:
            raise _garbage(answer)
        return Person(user_id, name)

    async def check(self, account_id: str, access_token: str) -> None:
        """Whether DeviantArt takes the token: the cheapest request there is."""
        await self._api("placebo", access_token, account_gate(account_id, self._policy))

    async def revoke(self, account_id: str, refresh_token: str) -> None:
        gate = account_gate(account_id, self._policy)
        form = [("token", refresh_token)]
        await self._http.send(
            "POST", f"{self._base}/oauth2/revoke", gate, headers=HEADERS, form=form, judge=_judge_api
        )

    @property
    def _site_gate(self) -> Gated:
        """For what belongs to no account yet."""
        return Gated(SITE, self._policy)

    async def _api(self, path: str, access_token: str, gate: Gated) -> Answer:
        headers = {**HEADERS, "Authorization": f"Bearer {access_token}"}
        url = f"{self._base}/api/v1/oauth2/{path}"
        return await self._http.send("GET", url, gate, headers=headers, judge=_judge_api)

    async def _token(self, form: Sequence[tuple[str, str]], gate: Gated, *, refused: Refusal) -> TokenPair:
        client_id, client_secret = self._client()
        credentials = [("client_id", client_id), ("client_secret", client_secret)]

        def judge(answer: Answer) -> None:
            _judge_token(answer, refused)

        answer = await self._http.send(
            "POST",
            f"{self._base}/oauth2/token",
            gate,
            headers=HEADERS,
            form=[*form, *credentials],
            judge=judge,
        )
        return _pair(answer)

    def _client(self) -> tuple[str, str]:
        if not self._client_id or not self._client_secret:
            raise UsageError(
                "no_client",
                "DeviantArt needs an application of yours (deviantart.com/developers): set "
                "FASCICLE_DEVIANTART_CLIENT_ID and FASCICLE_DEVIANTART_CLIENT_SECRET.",
            )
        return self._client_id, self._client_secret


def _judge_token(answer: Answer, refused: Refusal) -> None:
    _judge_common(answer)
    if answer.status < 400:
        _pair(answer)  # garbage counts against the gate, too
        return
    error = _error_name(answer)
    if error is None:
        raise _garbage(answer)
    if answer.status == 401 or error in _WRONG_CLIENT:
        raise PermanentError(
            "client_refused",
            f"DeviantArt does not accept our application ({error}): check FASCICLE_DEVIANTART_CLIENT_ID and "
            "FASCICLE_DEVIANTART_CLIENT_SECRET.",
            http_status=answer.status,
        )
    raise refused(error, answer.status)


def _judge_api(answer: Answer) -> None:
    _judge_common(answer)
    if answer.status < 400:
        return
    error = _error_name(answer)
    if answer.status == 401:
        raise PermanentError(
            "auth_failed", f"DeviantArt refuses the token ({error or 'no reason'}).", http_status=401
        )
    if error is None:
        raise _garbage(answer)
    raise PermanentError("bad_request", f"DeviantArt refuses: {error}.", http_status=answer.status)


def _judge_common(answer: Answer) -> None:
    """What an answer means whatever was asked."""
    status, wait = answer.status, retry_after(answer.headers)
    said = f"{answer.place} answered {status}"
    if status == 429:
        seconds = _WAIT_SECONDS if wait is None else wait
        raise MustWait("rate_limited", said, seconds=seconds, refused=True, http_status=status)
    # The edge's page, not the site's JSON: it, too, means that we come too often.
    if status == 403 and _error_name(answer) is None:
        seconds = _BAN_SECONDS if wait is None else wait
        raise MustWait("blocked", said, seconds=seconds, refused=True, http_status=status)
    if status >= 500 or status == 408:
        raise RetryableError("server_error", said, http_status=status)
    if 300 <= status < 400:
        raise _garbage(answer)


def _refresh_refused(error: str, status: int) -> FascicleError:
    if error in _DEAD_TOKEN:
        return PermanentError(
            "refresh_refused",
            f"DeviantArt no longer accepts the refresh token ({error}).",
            http_status=status,
        )
    return _token_refused(error, status)


def _code_refused(error: str, status: int) -> FascicleError:
    if error in _DEAD_TOKEN:
        return PermanentError(
            "code_refused",
            f"DeviantArt does not accept the code ({error}): it is good for a minute and for one use. "
            "Connect again, and check that the redirect address is registered there.",
            http_status=status,
        )
    return _token_refused(error, status)


def _token_refused(error: str, status: int) -> FascicleError:
    return PermanentError("token_refused", f"DeviantArt gives no token: {error}.", http_status=status)


def _pair(answer: Answer) -> TokenPair:
    found = _object(answer)
    access, refresh, seconds = (found.get(k) for k in ("access_token", "refresh_token", "expires_in"))
    if not isinstance(access, str) or not access or not isinstance(seconds, int | float):
        raise _garbage(answer)
    return TokenPair(access, refresh if isinstance(refresh, str) and refresh else None, float(seconds))


def _object(answer: Answer) -> dict[str, Any]:
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise _garbage(answer) from None
    if not isinstance(found, dict):
        raise _garbage(answer)
    return found


def _error_name(answer: Answer) -> str | None:
    """DeviantArt's word for what is wrong; None where the answer is not in its form."""
    try:
        error = orjson.loads(answer.body)["error"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return error[:60] if isinstance(error, str) else None


def _garbage(answer: Answer) -> RetryableError:
    return RetryableError(
        "bad_answer",
        f"{answer.place} answered {answer.status} with something that is not its form.",
        http_status=answer.status,
    )
