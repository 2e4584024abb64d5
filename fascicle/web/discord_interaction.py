"""Discord's request for a command: its signature, its user, and the command."""

import re
from collections.abc import Collection, Mapping

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

PING = 1
COMMAND = 2

_FRESH_SECONDS = 300
_SUBCOMMAND = 1
# Discord has no longer ones, and Python refuses to parse thousands of digits.
_PERMISSIONS = re.compile("[0-9]{1,40}")
_ADMINISTRATOR = 1 << 3
_MANAGE_GUILD = 1 << 5

Id = Field(pattern="^[0-9]{1,20}$")


class SignatureCheck:
    """Discord signs the time and the body of every request with the application's key."""

    def __init__(self, public_key: str) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        self._key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))

    def passes(self, headers: Mapping[str, str], body: bytes, now: float) -> bool:
        from cryptography.exceptions import InvalidSignature

        stamp = headers.get("x-signature-timestamp", "")
        # An old request that somebody recorded must not be accepted again.
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 13):
            return False
        if abs(now - int(stamp)) > _FRESH_SECONDS:
            return False
        try:
            signature = bytes.fromhex(headers.get("x-signature-ed25519", ""))
            self._key.verify(signature, stamp.encode() + body)
        except (InvalidSignature, ValueError):
            return False
        return True


class _Part(BaseModel):
    # An error must not quote the input, which contains the token.
    model_config = ConfigDict(hide_input_in_errors=True)


class _Option(_Part):
    name: str
    type: int
    value: str | int | float | bool | None = None
    options: list["_Option"] = []


class _Data(_Part):
    name: str
    options: list[_Option] = []


class _User(_Part):
    id: str = Id


class _Member(_Part):
    user: _User
    roles: list[str] = []
    permissions: str = "0"


class Kind(_Part):
    type: int


class Interaction(_Part):
    id: str = Id
    application_id: str = Id
    token: SecretStr
    data: _Data
    member: _Member | None = None
    user: _User | None = None
    channel_id: str | None = None
    guild_id: str | None = None

    @property
    def person(self) -> str:
        """The id of the sender: a member in a server, a user in a direct message."""
        user = self.member.user if self.member is not None else self.user
        assert user is not None, "checked by _asked_by_somebody"
        return user.id

    @model_validator(mode="after")
    def _asked_by_somebody(self) -> "Interaction":
        if self.member is None and self.user is None:
            raise ValueError("nobody asks")
        return self

    def command(self) -> tuple[str, dict[str, str]]:
        """The command's name with its subcommand's, and its options."""
        name, options = self.data.name, self.data.options
        if options and options[0].type == _SUBCOMMAND:
            name, options = f"{name} {options[0].name}", options[0].options
        return name, {
            option.name: str(option.value).replace("\0", "").strip()
            for option in options
            if option.value is not None
        }

    def is_by_moderator(self, roles: Collection[str]) -> bool:
        """May the sender manage the server, or has the sender one of these roles?"""
        if self.member is None:
            return False
        given = self.member.permissions
        permissions = int(given) if _PERMISSIONS.fullmatch(given) else 0
        return bool(permissions & (_ADMINISTRATOR | _MANAGE_GUILD)) or not set(roles).isdisjoint(
            self.member.roles
        )
