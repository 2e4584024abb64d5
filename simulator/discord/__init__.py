"""The part of Discord's REST API that a bot needs to answer interactions."""

from simulator.discord.chat import Chat
from simulator.discord.records import Interaction, Message
from simulator.discord.site import Discord

__all__ = ["Chat", "Discord", "Interaction", "Message"]
