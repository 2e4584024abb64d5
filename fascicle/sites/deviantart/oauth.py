"""DeviantArt's OAuth2: connects an account and renews its tokens (P6).

A refresh token is good for one use: a request whose answer is lost has probably used it up. Nothing here is
retried. Of the token endpoint's answers only the error's name is ever quoted: any other part may be a token.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.domain.gate import GatePolicy
from fascicle.net.answers import Answer
from fascicle.net.http import Gated, HttpClient
from fascicle.sites.deviantart.answers import (
    HEADERS,
    bad_answer,
    bearing,
    described,
    error_name,
    judge_read,
    refusal,
    said,
)

SITE = "deviantart"
SCOPES = ("basic", "user", "stash", "publish", "browse")
# DeviantArt's answers do not say how long a refresh token lasts; its documentation does.
REFRESH_SECONDS = 90 * 86400.0
_DEAD_TOKEN = ("invalid_request", "invalid_grant")
_WRONG_CLIENT = ("invalid_client", "unauthorized_client")
# A stated lifetime of more than a year is of no use, and the database refuses dates beyond the calendar.
_LONGEST_LIFE = 365 * 86_400.0


# Makes the error of a refusal from DeviantArt's name for it and the status.
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
    """One attempt to connect: `state` comes back with the code, `verifier` proves that we have asked."""

    url: str
    redirect_uri: str
    state: str
    verifier: str = field(repr=False)


def account_gate(account_id: str, policy: GatePolicy) -> Gated:
    """The gate for all requests of one account."""
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
        """The owner of the token. The error `whoami_refused` means that the site does not tell."""
        answer = await self._http.send(
            "GET",
            f"{self._base}/api/v1/oauth2/user/whoami",
            self._site_gate,
            headers=bearing(access_token),
            judge=_judge_whoami,
        )
        found = said(answer) or {}
        user_id, name = found.get("userid"), found.get("username")
        if not isinstance(user_id, str) or not isinstance(name, str) or not user_id or not name:
            raise bad_answer(answer)
        return Person(user_id, name)

    async def revoke(self, refresh_token: str) -> None:
        """Revoke a person's permission with all its tokens."""
        await self._http.send(
            "POST",
            f"{self._base}/oauth2/revoke",
            self._site_gate,
            headers=HEADERS,
            form=[("token", refresh_token)],
            judge=judge_read,
        )

    @property
    def _site_gate(self) -> Gated:
        """The gate for requests that belong to no account yet."""
        return Gated(SITE, self._policy)

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
    status, error = answer.status, error_name(answer)
    if status < 300:
        _pair(answer)  # raise here, so that garbage counts as a failure at the gate
        return
    # `refusal` is about access tokens; here only its waits apply.
    if isinstance(wait := refusal(answer), MustWait):
        raise wait
    if status >= 500 or status == 408:
        raise RetryableError("server_error", described(answer), http_status=status)
    if error is None or status < 400:
        raise bad_answer(answer)
    if status == 401 or error in _WRONG_CLIENT:
        raise PermanentError(
            "client_refused",
            f"DeviantArt does not accept our application ({error}): check FASCICLE_DEVIANTART_CLIENT_ID and "
            "FASCICLE_DEVIANTART_CLIENT_SECRET.",
            http_status=status,
        )
    raise refused(error, status)


def _judge_whoami(answer: Answer) -> None:
    may_not = refusal(answer)
    if answer.status == 404 or (may_not is not None and may_not.code == "auth_failed"):
        raise PermanentError("whoami_refused", described(answer), http_status=answer.status)
    judge_read(answer)


def _refresh_refused(error: str, status: int) -> FascicleError:
    if error in _DEAD_TOKEN:
        return PermanentError(
            "refresh_refused",
            f"DeviantArt no longer accepts the refresh token ({error}).",
            http_status=status,
        )
    return _no_token_given(error, status)


def _code_refused(error: str, status: int) -> FascicleError:
    if error in _DEAD_TOKEN:
        return PermanentError(
            "code_refused",
            f"DeviantArt does not accept the code ({error}): it is good for a minute and for one use. "
            "Connect again, and check that the redirect address is registered there.",
            http_status=status,
        )
    return _no_token_given(error, status)


def _no_token_given(error: str, status: int) -> FascicleError:
    return PermanentError("no_token_given", f"DeviantArt gives no token: {error}.", http_status=status)


def _pair(answer: Answer) -> TokenPair:
    found = said(answer) or {}
    access, refresh, seconds = (found.get(k) for k in ("access_token", "refresh_token", "expires_in"))
    if not isinstance(access, str) or not access or not isinstance(seconds, int | float):
        raise bad_answer(answer)
    lasts = min(max(float(seconds), 0.0), _LONGEST_LIFE)
    return TokenPair(access, refresh if isinstance(refresh, str) and refresh else None, lasts)
