"""The state of the simulated API: replies, channels, commands, and a record of every call."""

import re
import time
from collections.abc import Callable
from threading import RLock
from typing import Any

from simulator.discord.errors import ApiError
from simulator.discord.records import APPLICATION_ID, TOKEN_SECONDS, Call, Interaction, Message, Saved

LONGEST_CONTENT = 2000
LONGEST_NONCE = 25
_NAME = re.compile(r"[-_a-z0-9]{1,32}")
_MENTION = re.compile(r"@everyone|@here|<@!?\d+>|<@&\d+>")


class Chat:
    """Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.lock = RLock()
        self._clock = clock
        self._saved = Saved()

    @property
    def bot_token(self) -> str:
        return self._saved.bot_token

    def clear(self) -> None:
        with self.lock:
            self._saved = Saved()

    def add_interaction(
        self, token: str, *, application_id: str = APPLICATION_ID, seconds: float = TOKEN_SECONDS
    ) -> Interaction:
        """Simulate that a user used a command: its reply can be edited for `seconds` from now."""
        with self.lock:
            expires_at = self._clock() + seconds
            interaction = Interaction(token=token, application_id=application_id, expires_at=expires_at)
            self._saved.interactions[token] = interaction
            return interaction

    def add_channel(self, channel_id: str, *, forbidden: bool = False) -> None:
        """Add a channel; with `forbidden`, the bot may not write there."""
        with self.lock:
            self._saved.channels.setdefault(channel_id, [])
            (self._saved.forbidden.add if forbidden else self._saved.forbidden.discard)(channel_id)

    def shown(self, token: str) -> str | None:
        """The current text of the reply of that token."""
        with self.lock:
            interaction = self._saved.interactions.get(token)
            return interaction.shown if interaction else None

    def interactions(self) -> list[Interaction]:
        with self.lock:
            return [found.model_copy() for found in self._saved.interactions.values()]

    def messages(self, channel_id: str) -> list[Message]:
        with self.lock:
            return list(self._saved.channels.get(channel_id, ()))

    def commands(self, guild: str | None = None) -> list[dict[str, Any]]:
        with self.lock:
            return list(self._saved.commands.get(guild or "global", ()))

    def calls(self, kind: str | None = None) -> list[Call]:
        """The calls, oldest first; kinds are edit, follow_up, message and register."""
        with self.lock:
            return [call for call in self._saved.calls if kind in (None, call.kind)]

    def edit(self, application_id: str, token: str, payload: dict[str, Any]) -> None:
        content = _content(payload)
        with self.lock:
            self._interaction(application_id, token).shown = content

    def follow_up(self, application_id: str, token: str, payload: dict[str, Any]) -> Message:
        content = _content(payload)
        with self.lock:
            self._interaction(application_id, token).follow_ups.append(content)
            return Message(id=self._next_id(), channel_id="0", content=content, pings=pings(payload))

    def post(self, channel_id: str, payload: dict[str, Any]) -> Message:
        """Post a message; if its enforced nonce was used before, return the earlier message instead."""
        content, nonce = _content(payload), payload.get("nonce")
        if nonce is not None and len(str(nonce)) > LONGEST_NONCE:
            raise ApiError(400, 50035, "Invalid Form Body")
        with self.lock:
            messages = self._saved.channels.get(channel_id)
            if messages is None:
                raise ApiError(404, 10003, "Unknown Channel")
            if channel_id in self._saved.forbidden:
                raise ApiError(403, 50001, "Missing Access")
            if nonce is not None and payload.get("enforce_nonce"):
                earlier = next((message for message in messages if message.nonce == str(nonce)), None)
                if earlier is not None:
                    return earlier
            message = Message(
                id=self._next_id(),
                channel_id=channel_id,
                content=content,
                nonce=None if nonce is None else str(nonce),
                pings=pings(payload),
            )
            messages.append(message)
            return message

    def register(self, guild: str | None, commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Replace all commands of the guild, or the global ones."""
        for command in commands:
            _check_command(command)
        with self.lock:
            kept = [{**command, "id": self._next_id()} for command in commands]
            self._saved.commands[guild or "global"] = kept
            return kept

    def note(self, kind: str, place: str, payload: dict[str, Any] | None, status: int) -> None:
        with self.lock:
            content = None if payload is None else payload.get("content")
            self._saved.calls.append(
                Call(
                    number=len(self._saved.calls) + 1,
                    at=time.time(),
                    monotonic=time.monotonic(),
                    kind=kind,
                    place=place,
                    content=content if isinstance(content, str) else None,
                    pings=pings(payload or {}),
                    status=status,
                )
            )

    def _interaction(self, application_id: str, token: str) -> Interaction:
        found = self._saved.interactions.get(token)
        if found is None or found.application_id != application_id:
            raise ApiError(404, 10015, "Unknown Webhook")
        if found.expires_at <= self._clock():
            raise ApiError(401, 50027, "Invalid Webhook Token")
        return found

    def _next_id(self) -> str:
        self._saved.last_id += 1
        return str(2_000_000_000_000_000_000 + self._saved.last_id)


def pings(payload: dict[str, Any]) -> list[str]:
    """The mentions that notify: all in the message, or only those that `allowed_mentions` allows."""
    content = payload.get("content")
    mentioned = _MENTION.findall(content) if isinstance(content, str) else []
    allowed = payload.get("allowed_mentions")
    if allowed is None:
        return mentioned
    parse, users = allowed.get("parse", []), allowed.get("users", [])
    return [mention for mention in mentioned if _is_allowed(mention, parse, users)]


def _is_allowed(mention: str, parse: list[str], users: list[str]) -> bool:
    if mention.startswith("@"):
        return "everyone" in parse
    if mention.startswith("<@&"):
        return "roles" in parse
    return "users" in parse or re.sub(r"\D", "", mention) in users


def _content(payload: dict[str, Any]) -> str:
    content = payload.get("content")
    if not isinstance(content, str) or not 1 <= len(content) <= LONGEST_CONTENT:
        raise ApiError(400, 50035, "Invalid Form Body")
    return content


def _check_command(command: dict[str, Any], *, depth: int = 0) -> None:
    name, description = command.get("name"), command.get("description")
    is_named = isinstance(name, str) and _NAME.fullmatch(name)
    is_described = isinstance(description, str) and 1 <= len(description) <= 100
    if not is_named or not is_described or depth > 2:
        raise ApiError(400, 50035, "Invalid Form Body")
    for option in command.get("options", []):
        _check_command(option, depth=depth + 1)
