"""The actions of Discord's commands, done at the desk where fics are submitted (F8)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.fics.fic import FicView
from fascicle.domain.fics.fic_words import describe_on_discord, describe_queue
from fascicle.domain.harmless_text import escape_markdown
from fascicle.domain.notifications.discord_reply import Reply
from fascicle.web import discord_commands as commands

_MOST_TAGS = 20
_SHOWN = 10


class FicDesk(Protocol):
    """The place where fics are submitted. It raises a FascicleError, whose message people see."""

    async def add(
        self,
        url: str,
        user: str,
        *,
        note: str | None = None,
        tags: Sequence[str] = (),
        reply: Reply | None = None,
    ) -> FicView: ...

    async def update(self, url: str, user: str, *, reply: Reply | None = None) -> FicView: ...

    async def queue(self, limit: int = 10) -> list[FicView]: ...

    async def reset(self) -> int: ...

    async def clear(self, url: str) -> bool: ...

    async def override(self, url: str, moderator: str, reason: str | None = None) -> FicView: ...

    async def set_channel(self, url: str | None) -> None: ...

    async def take_interaction(self, interaction_id: str) -> bool:
        """Returns whether to carry it out: Discord may deliver it twice, and somebody may replay it."""
        ...


@dataclass(frozen=True)
class Asked:
    """A command, and the user who sent it."""

    name: str
    options: dict[str, str]
    user: str
    reply: Reply
    interaction_id: str

    @property
    def url(self) -> str:
        return self.options.get("url", "")


@dataclass(frozen=True)
class Said:
    """An answer. `passing`: it is not sent again after an error, because it may be out of date by then."""

    text: str
    passing: bool = False


@dataclass(frozen=True)
class Deed:
    do: Callable[[Asked], Awaitable[Said]]
    for_moderators: bool = False
    private: bool = False


class Deeds:
    def __init__(self, desk: Callable[[], FicDesk], *, has_bot: bool) -> None:
        self._desk = desk
        self._has_bot = has_bot

    def by_command(self) -> Mapping[str, Deed]:
        return {
            commands.ADD: Deed(self._add),
            commands.UPDATE: Deed(self._update),
            commands.QUEUE: Deed(self._queue, private=True),
            commands.RESET: Deed(self._reset, for_moderators=True, private=True),
            commands.CLEAR: Deed(self._clear, for_moderators=True, private=True),
            commands.OVERRIDE: Deed(self._override, for_moderators=True),
            commands.SET_CHANNEL: Deed(self._set_channel, for_moderators=True, private=True),
        }

    async def _add(self, asked: Asked) -> Said:
        tags = [tag.strip() for tag in asked.options.get("tags", "").split(",")]
        view = await self._desk().add(
            asked.url,
            asked.user,
            note=asked.options.get("note") or None,
            tags=[tag for tag in tags if tag][:_MOST_TAGS],
            reply=asked.reply,
        )
        return _told(view)

    async def _update(self, asked: Asked) -> Said:
        return _told(await self._desk().update(asked.url, asked.user, reply=asked.reply))

    async def _queue(self, asked: Asked) -> Said:
        waiting = [view for view in await self._desk().queue(_SHOWN) if not view.finished]
        return Said(describe_queue(waiting, escape_markdown))

    async def _reset(self, asked: Asked) -> Said:
        number = await self._desk().reset()
        if not number:
            return Said("Nothing was stuck.")
        return Said(
            "1 stuck job was started again." if number == 1 else f"{number} stuck jobs were started again."
        )

    async def _clear(self, asked: Asked) -> Said:
        cleared = await self._desk().clear(asked.url)
        return Said("It is out of the queue." if cleared else "There is no such fic in the queue.")

    async def _override(self, asked: Asked) -> Said:
        view = await self._desk().override(asked.url, asked.user, asked.options.get("reason") or None)
        return Said(describe_on_discord(view))

    async def _set_channel(self, asked: Asked) -> Said:
        channel = asked.options.get("channel")
        if channel is None:
            await self._desk().set_channel(None)
            return Said("From now on no channel is told of new fics.")
        if not (channel.isascii() and channel.isdigit()):
            raise UsageError("wrong_usage", "That is not a channel of this server.")
        if not self._has_bot:
            raise PermanentError(
                "wrong_setting",
                "Writing to a channel needs a bot: set FASCICLE_DISCORD_BOT_TOKEN and start again.",
            )
        await self._desk().set_channel(f"discord-channel://{channel}")
        return Said(f"From now on new fics are told in <#{channel}>.")


def _told(view: FicView) -> Said:
    return Said(describe_on_discord(view), passing=not view.finished)
