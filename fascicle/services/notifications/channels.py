"""The Apprise URLs that ordinary users may have as channels."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from fascicle.domain.errors import UsageError

if TYPE_CHECKING:
    from fascicle.services.notifications.channel_check import Judged

EVERYTHING = "*"


def check_is_allowed(channel: "Judged", allowed: Collection[str]) -> None:
    """Raises UsageError if ordinary users may not have it; the error never shows the URL, a secret."""
    if EVERYTHING in allowed:
        return
    if not channel.kinds & set(allowed):
        raise UsageError(
            "channel_not_allowed",
            f"Channels of the kind {'/'.join(sorted(channel.kinds))} are not open to users. Add it with "
            "--trusted if you vouch for it, or name the kind in FASCICLE_CHANNEL_SCHEMAS.",
        )
    if channel.files is not None:
        raise UsageError(
            "channel_not_allowed",
            f"The parameter {channel.files!r} names a file on this machine, which channels may not read.",
        )


def kind_of(url: str) -> str:
    return url.partition("://")[0]


def masked(kind: str) -> str:
    """A channel as shown to people: every other part of its address may be a secret."""
    return f"{kind}://…"
