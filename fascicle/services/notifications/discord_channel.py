"""Messages that the bot posts to a channel of a Discord server."""

from fascicle.domain.errors import FascicleError
from fascicle.domain.harmless_text import escape_markdown
from fascicle.services.notifications.message import Message, closing_link
from fascicle.services.notifications.notifier import Sent
from fascicle.sites.discord import Discord

_SCHEME = "discord-channel://"


def is_discord_channel(url: str) -> bool:
    return url.startswith(_SCHEME)


async def post_to_channel(discord: Discord, url: str, message: Message, *, nonce: str) -> Sent:
    """Posts once, however often it is tried: Discord accepts a nonce only once within some minutes."""
    content = f"**{escape_markdown(message.title)}**\n{_body(message.body)}"
    try:
        await discord.post_message(url.removeprefix(_SCHEME), content, nonce)
    except FascicleError as error:
        return Sent(False, error=error.message)
    return Sent(True)


def _body(body: str) -> str:
    """Only the last line, the fic's address in our normal form, becomes a link; people's text does not."""
    if not (link := closing_link(body)):
        return escape_markdown(body)
    words = body.rpartition("\n")[0]
    return f"{escape_markdown(words)}\n<{link[0]}>".lstrip()
