"""The part of DeviantArt's API that a publisher needs, and the record of everything published."""

from simulator.deviantart.records import AccountLimit, Options, TokenPair
from simulator.deviantart.site import DeviantArt
from simulator.deviantart.studio import Studio
from simulator.deviantart.tokens import Tokens, challenge_of

__all__ = ["AccountLimit", "DeviantArt", "Options", "Studio", "TokenPair", "Tokens", "challenge_of"]
