"""Records of the simulated Discord."""

from typing import Any

from pydantic import BaseModel

BOT_TOKEN = "simulated-bot-token"  # noqa: S105 - of no bot
APPLICATION_ID = "1130000000000000001"
TOKEN_SECONDS = 900.0


class Interaction(BaseModel):
    """A token that allows editing a reply until the token expires."""

    token: str
    application_id: str = APPLICATION_ID
    expires_at: float
    shown: str | None = None
    """The reply's current text; None while it only says that the bot is thinking."""
    follow_ups: list[str] = []


class Message(BaseModel):
    id: str
    channel_id: str
    content: str
    nonce: str | None = None
    pings: list[str] = []


class Call(BaseModel):
    """One call that was carried out or refused. `pings`: the mentions that would notify."""

    number: int
    at: float
    monotonic: float
    kind: str
    place: str
    content: str | None = None
    pings: list[str] = []
    status: int


class Saved(BaseModel):
    bot_token: str = BOT_TOKEN
    last_id: int = 0
    interactions: dict[str, Interaction] = {}
    channels: dict[str, list[Message]] = {}
    forbidden: set[str] = set()
    commands: dict[str, list[dict[str, Any]]] = {}
    """By guild; `global` for commands of all guilds."""
    calls: list[Call] = []
