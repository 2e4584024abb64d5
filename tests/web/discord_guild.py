"""A Discord server for tests: members whose commands are signed as Discord signs them, a desk that notes."""

import asyncio
import itertools
import time
from collections.abc import Sequence
from typing import Any

import httpx
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette

from fascicle.domain.fics.fic import FicKind, FicView, JobState
from fascicle.domain.notifications.discord_reply import Reply
from fascicle.net.http import HttpClient
from fascicle.sites.discord import Discord
from fascicle.web.discord import DiscordRoutes, FicDesk
from simulator.discord.records import APPLICATION_ID
from simulator.server import RunningSimulator

KEY = Ed25519PrivateKey.generate()
PUBLIC_KEY = KEY.public_key().public_bytes_raw().hex()
TOKEN = "aW50ZXJhY3Rpb246c2VjcmV0"
URL = "https://ao3.test/works/5"
NEXT = f"Next in AO3's queue.\n<{URL}>"
MEMBER = {"user": {"id": "42", "username": "ann"}, "roles": ["1"], "permissions": "0"}
OWNER = {**MEMBER, "permissions": str(1 << 3 | 1)}
MANAGER = {**MEMBER, "permissions": str(1 << 5)}
BY_ROLE = {**MEMBER, "roles": ["1", "77"]}
_NUMBERS = itertools.count(1001)
CHANNEL = {"type": 7, "name": "channel", "value": "555"}


def a_view(state: JobState = JobState.PENDING, title: str | None = None, **fields: Any) -> FicView:
    defaults = {"key": "ao3-work-5", "workflow_id": "fic-ao3-work-5", "url": URL, "site": "ao3"}
    return FicView(**defaults, kind=FicKind.WORK, state=state, title=title, **fields)


class Desk:
    """Notes what it is asked and gives the answer it was told to give."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.replies: list[Reply] = []
        self.answer: Any = a_view(position=1)
        self.hangs = False
        self.taken: set[str] = set()

    def _note(self, *asked: Any, reply: Reply | None = None) -> Any:
        self.asked.append(asked)
        if reply is not None:
            self.replies.append(reply)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def add(
        self,
        url: str,
        user: str,
        *,
        note: str | None = None,
        tags: Sequence[str] = (),
        reply: Reply | None = None,
    ) -> FicView:
        view: FicView = self._note("add", url, user, note, list(tags), reply=reply)
        return view

    async def update(self, url: str, user: str, *, reply: Reply | None = None) -> FicView:
        view: FicView = self._note("update", url, user, reply=reply)
        return view

    async def queue(self, limit: int = 10) -> list[FicView]:
        views = [self._note("queue", limit)]
        if self.hangs:
            await asyncio.Event().wait()
        return views

    async def reset(self) -> int:
        self._note("reset")
        return 2

    async def clear(self, url: str) -> bool:
        self._note("clear", url)
        return True

    async def override(self, url: str, moderator: str, reason: str | None = None) -> FicView:
        view: FicView = self._note("override", url, moderator, reason)
        return view

    async def set_channel(self, url: str | None) -> None:
        self._note("set_channel", url)

    async def take_interaction(self, interaction_id: str) -> bool:
        is_first = interaction_id not in self.taken
        self.taken.add(interaction_id)
        return is_first


class Guild:
    """A server whose members use commands; the answers are what the simulated Discord shows."""

    def __init__(self, http: HttpClient, simulator: RunningSimulator, desk: FicDesk | None = None) -> None:
        self.desk = Desk()
        self._real_desk = desk
        self.simulator = simulator
        self._api = Discord(http, base_url=simulator.site_url("discord"))
        self.configure()

    def configure(self, **options: Any) -> None:
        self.routes = DiscordRoutes(
            PUBLIC_KEY,
            lambda: self._real_desk or self.desk,
            self._api,
            **{"moderator_roles": ["77"], "has_bot": True, "retry_seconds": 0.01, **options},
        )

    async def send(self, body: bytes, headers: dict[str, str]) -> httpx.Response:
        app = httpx.ASGITransport(Starlette(routes=self.routes.routes()))
        async with httpx.AsyncClient(transport=app, base_url="http://ops.test") as client:
            return await client.post("/discord/interactions", content=body, headers=headers)

    async def use(self, body: dict[str, Any]) -> tuple[Any, str | None]:
        """What Discord gets at once, and what the reply shows in the end."""
        self.simulator.discord.add_interaction(TOKEN)
        content = orjson.dumps(body)
        answer = await self.send(content, signed(content))
        assert answer.status_code == 200, answer.text
        await self.routes.close()
        return answer.json(), self.simulator.discord.shown(TOKEN)


def signed(body: bytes, *, at: float | None = None) -> dict[str, str]:
    stamp = str(int(time.time() if at is None else at))
    signature = KEY.sign(stamp.encode() + body).hex()
    return {"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": signature}


def interaction(data: dict[str, Any], **changes: Any) -> dict[str, Any]:
    body = {
        "id": str(next(_NUMBERS)),
        "type": 2,
        "application_id": APPLICATION_ID,
        "token": TOKEN,
        "guild_id": "9",
        "channel_id": "8",
        "member": MEMBER,
        "data": data,
    }
    return {name: value for name, value in {**body, **changes}.items() if value is not None}


def rec(subcommand: str, member: Any = MEMBER, **options: str) -> dict[str, Any]:
    given = [{"type": 3, "name": name, "value": value} for name, value in options.items()]
    data = {"name": "rec", "options": [{"type": 1, "name": subcommand, "options": given}]}
    return interaction(data, member=member)


def set_channel(*options: dict[str, Any], member: Any = OWNER) -> dict[str, Any]:
    return interaction({"name": "setficqueuechannel", "options": list(options)}, member=member)
