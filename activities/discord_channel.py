"""Messages into a channel of a Discord server, by the bot."""

import re

from fascicle.domain.errors import FascicleError
from fascicle.domain.fic_words import escape_markdown
from fascicle.runtime.notifier import Message, Sent
from fascicle.sites.discord import Discord

_SCHEME = "discord-channel://"
_ADDRESS = re.compile(r"https?://[^\s<>]+")


def is_discord_channel(url: str) -> bool:
    return url.startswith(_SCHEME)


async def post_to_channel(discord: Discord, url: str, message: Message, *, nonce: str) -> Sent:
    """Once, however often it is tried: Discord takes one nonce once within minutes."""
    content = f"**{escape_markdown(message.title)}**\n{_body(message.body)}"
    try:
        await discord.post_message(url.removeprefix(_SCHEME), content, nonce)
    except FascicleError as error:
        return Sent(False, error=error.message)
    return Sent(True)


def _body(body: str) -> str:
    """The last line is the fic's address, in our own normal form: a link, unlike any in people's words."""
    words, _, last = body.rpartition("\n")
    if _ADDRESS.fullmatch(last) is None:
        return escape_markdown(body)
    return f"{escape_markdown(words)}\n<{last}>".lstrip()
