"""Messages into a channel of a Discord server, by the bot."""

from fascicle.domain.errors import FascicleError
from fascicle.domain.harmless_text import escape_markdown
from fascicle.runtime.message import Message, closing_link
from fascicle.runtime.notifier import Sent
from fascicle.sites.discord import Discord

_SCHEME = "discord-channel://"


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
    if not (link := closing_link(body)):
        return escape_markdown(body)
    words = body.rpartition("\n")[0]
    return f"{escape_markdown(words)}\n<{link[0]}>".lstrip()
