"""Discord's REST API: edits replies to interactions, writes to channels, registers commands.

An interaction's token is part of the address it is used at, so this module replaces the messages of the HTTP
client's errors.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson
from pydantic import SecretStr

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.domain.gate import GatePolicy
from fascicle.net.answers import Answer, retry_after
from fascicle.net.http import Gated, HttpClient, StreamedBody

LONGEST_CONTENT = 2000
# Discord allows a bot 50 requests in a second.
GATE = Gated("discord", GatePolicy(0.02, ceiling=60.0))
_LONGEST_NONCE = 25
_EPHEMERAL = 64
# Discord's statuses for an unknown or old token, and for a token without a reply.
_NO_SUCH_REPLY = (401, 404)
_WITHOUT_ADDRESS = frozenset(
    {"reply_expired", "auth_failed", "not_found", "rate_limited", "blocked", "server_error", "bad_request"}
    | {"unavailable", "gate_wait"}
)
_WORDS = {
    "timeout": "Discord did not answer in time.",
    "connect_failed": "Discord cannot be reached: check FASCICLE_DISCORD_URL and the network.",
    "dns_failed": "Discord cannot be found: check FASCICLE_DISCORD_URL and the network.",
    "connection_lost": "Discord broke off.",
    "blocked_address": "FASCICLE_DISCORD_URL is a private address that FASCICLE_ALLOW_HOSTS does not name.",
}

Judge = Callable[[Answer], None]


class Discord:
    def __init__(self, http: HttpClient, *, base_url: str, bot_token: SecretStr | None = None) -> None:
        self._http = http
        self._api = base_url
        self._bot_token = bot_token

    async def edit_reply(
        self, application_id: str, token: SecretStr, content: str, *, mention: str | None = None
    ) -> None:
        """Replace the text of the reply. Repeatable. Raises `reply_expired` when it is too late."""
        url = f"{self._webhook(application_id, token)}/messages/@original"
        await self._send("PATCH", url, _message(content, mention), judge=_judge_reply)

    async def follow_up(
        self,
        application_id: str,
        token: SecretStr,
        content: str,
        *,
        mention: str | None = None,
        ephemeral: bool = False,
    ) -> None:
        """Another message below the reply; `ephemeral`: only the user of the command sees it."""
        payload = _message(content, mention) | ({"flags": _EPHEMERAL} if ephemeral else {})
        await self._send("POST", self._webhook(application_id, token), payload, judge=_judge_reply)

    async def post_message(
        self, channel_id: str, content: str, nonce: str, *, mention: str | None = None
    ) -> None:
        """A message by the bot. A repeated nonce within minutes means the same message, posted once."""
        payload = _message(content, mention) | {"nonce": _short(nonce), "enforce_nonce": True}
        url = f"{self._api}/channels/{quote(channel_id, safe='')}/messages"
        await self._send("POST", url, payload, judge=_judge_channel(channel_id), headers=self._as_bot())

    async def register(
        self, application_id: str, commands: Sequence[Mapping[str, Any]], guild: str | None = None
    ) -> int:
        """Replace all commands of the application, or those in one guild. Returns the number of commands."""
        place = f"guilds/{quote(guild, safe='')}/commands" if guild else "commands"
        url = f"{self._api}/applications/{quote(application_id, safe='')}/{place}"
        answer = await self._send(
            "PUT", url, list(commands), judge=_judge_registration, headers=self._as_bot()
        )
        try:
            return len(orjson.loads(answer.body))
        except (orjson.JSONDecodeError, TypeError):
            raise RetryableError("bad_answer", "Discord answered something that is not JSON.") from None

    def _webhook(self, application_id: str, token: SecretStr) -> str:
        secret = quote(token.get_secret_value(), safe="")
        return f"{self._api}/webhooks/{quote(application_id, safe='')}/{secret}"

    def _as_bot(self) -> dict[str, str]:
        if self._bot_token is None:
            raise UsageError(
                "wrong_setting", "This needs a bot: set FASCICLE_DISCORD_BOT_TOKEN (docs/discord.md)."
            )
        return {"Authorization": f"Bot {self._bot_token.get_secret_value()}"}

    async def _send(
        self, method: str, url: str, payload: Any, *, judge: Judge, headers: Mapping[str, str] | None = None
    ) -> Answer:
        try:
            return await self._http.send(
                method, url, GATE, headers=headers, body=_json_body(payload), judge=judge
            )
        except FascicleError as error:
            told = _without_address(error)
        # Raised outside the `except`, so that the original error with the address is not its context.
        raise told


def _json_body(payload: Any) -> StreamedBody:
    encoded = orjson.dumps(payload)

    async def chunks() -> AsyncIterator[bytes]:
        yield encoded

    return StreamedBody(chunks(), len(encoded), "application/json")


def _message(content: str, mention: str | None) -> dict[str, Any]:
    """Only `mention` is notified; mentions in titles and in people's texts have no effect."""
    allowed: dict[str, Any] = {"parse": []}
    if mention is not None:
        content = f"<@{mention}> {content}"
        allowed["users"] = [mention]
    return {"content": _cut(content), "allowed_mentions": allowed}


def _cut(content: str) -> str:
    return content if len(content) <= LONGEST_CONTENT else content[: LONGEST_CONTENT - 1] + "…"


def _short(nonce: str) -> str:
    return (
        nonce if len(nonce) <= _LONGEST_NONCE else hashlib.sha256(nonce.encode()).hexdigest()[:_LONGEST_NONCE]
    )


def _without_address(error: FascicleError) -> FascicleError:
    if error.code in _WITHOUT_ADDRESS:
        words = error.message
    else:
        words = _WORDS.get(error.code, f"Discord could not be told ({error.code}).")
    if isinstance(error, MustWait):
        return MustWait(
            error.code, words, seconds=error.seconds, refused=error.refused, http_status=error.http_status
        )
    family = RetryableError if error.retryable else PermanentError
    return family(error.code, words, http_status=error.http_status)


def _judge_reply(answer: Answer) -> None:
    if answer.status in _NO_SUCH_REPLY:
        raise PermanentError(
            "reply_expired",
            "Discord no longer takes edits of this reply: they are possible for 15 minutes.",
            http_status=answer.status,
        )
    _judge(answer)


def _judge_channel(channel_id: str) -> Judge:
    def judge(answer: Answer) -> None:
        if answer.status == 404:
            raise PermanentError(
                "not_found",
                f"Discord has no channel {channel_id} for the bot: choose one with /setficqueuechannel.",
                http_status=404,
            )
        if answer.status == 403 and _said(answer):
            raise PermanentError(
                "auth_failed",
                f"The bot may not write to the channel {channel_id}: allow it View Channel and Send Messages "
                "there, or choose another one with /setficqueuechannel.",
                http_status=403,
            )
        _judge(answer)

    return judge


def _judge_registration(answer: Answer) -> None:
    if answer.status == 404 or (answer.status == 403 and _said(answer)):
        raise PermanentError(
            "auth_failed" if answer.status == 403 else "not_found",
            "Discord does not let this bot register commands there: check FASCICLE_DISCORD_APPLICATION_ID, "
            "that FASCICLE_DISCORD_BOT_TOKEN belongs to it, and that it was added to the server.",
            http_status=answer.status,
        )
    _judge(answer)


def _judge(answer: Answer) -> None:
    """Judge the answer to any request."""
    status = answer.status
    if status < 300:
        return
    words = f"Discord answered {status}" + _reason(answer)
    if status == 401:
        raise PermanentError(
            "auth_failed",
            "Discord does not accept the bot's token: check FASCICLE_DISCORD_BOT_TOKEN.",
            http_status=status,
        )
    if status == 429 or (status == 403 and not _said(answer)):  # the edge servers' HTML: too many requests
        code = "rate_limited" if status == 429 else "blocked"
        raise MustWait(code, words, seconds=_wait(answer), refused=True, http_status=status)
    if status >= 500 or status == 408:
        raise RetryableError("server_error", words, http_status=status)
    if status == 403:
        raise PermanentError("auth_failed", f"{words} Check what the bot may do there.", http_status=status)
    raise PermanentError("bad_request", words, http_status=status)


def _said(answer: Answer) -> dict[str, Any]:
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _reason(answer: Answer) -> str:
    """Discord's number of the error. Its message may repeat our text, so it is left out."""
    code = _said(answer).get("code")
    return f" [{code}]." if isinstance(code, int) and code else "."


def _wait(answer: Answer) -> float:
    """The wait in seconds: the body is precise to the millisecond, the header has whole seconds."""
    seconds = _said(answer).get("retry_after")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds <= 86_400:
        return float(seconds)
    return retry_after(answer.headers) or (30.0 if answer.status == 429 else 300.0)
