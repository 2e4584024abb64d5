"""Politeness to the Archive of Our Own (F3): the floor that no setting lowers."""

from collections.abc import Collection
from urllib.parse import urlsplit

FLOOR_SECONDS = 20.0

# The archive's names, and mirrors that lead to it: naming one in `allow_hosts` does not make it yours.
ARCHIVE_HOSTS = (
    "archiveofourown.org",
    "archiveofourown.com",
    "archiveofourown.net",
    "archiveofourown.gay",
    "ao3.org",
    "archive.transformativeworks.org",
)


def ao3_floor(base_url: str, allow_hosts: Collection[str]) -> float:
    """The shortest distance between two requests. None is asked of a server of your own."""
    parts = urlsplit(base_url)
    host = (parts.hostname or "").rstrip(".")
    if any(host == name or host.endswith(f".{name}") for name in ARCHIVE_HOSTS):
        return FLOOR_SECONDS
    is_own = host in allow_hosts or parts.netloc in allow_hosts
    return 0.0 if is_own else FLOOR_SECONDS
