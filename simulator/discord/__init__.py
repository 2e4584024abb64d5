"""Discord's REST API as far as a bot that answers interactions needs it."""

from simulator.discord.chat import Chat
from simulator.discord.records import Interaction, Message
from simulator.discord.site import Discord

__all__ = ["Chat", "Discord", "Interaction", "Message"]
