"""DeviantArt's API as far as a publisher needs it, and the record of what was really published."""

from simulator.deviantart.records import AccountLimit, Options, TokenPair
from simulator.deviantart.site import DeviantArt
from simulator.deviantart.studio import Studio
from simulator.deviantart.tokens import Tokens, challenge_of

__all__ = ["AccountLimit", "DeviantArt", "Options", "Studio", "TokenPair", "Tokens", "challenge_of"]
