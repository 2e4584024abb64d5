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


def is_archive(host: str) -> bool:
    """Whether what is asked of that host reaches the archive, by whatever name."""
    bare = host.lower().rstrip(".")
    return any(bare == name or bare.endswith(f".{name}") for name in ARCHIVE_HOSTS)


def ao3_floor(base_url: str, allow_hosts: Collection[str]) -> float:
    """The shortest distance between two requests. None is asked of a server of your own."""
    parts = urlsplit(base_url)
    host = (parts.hostname or "").rstrip(".")
    if is_archive(host):
        return FLOOR_SECONDS
    is_own = host in allow_hosts or parts.netloc in allow_hosts
    return 0.0 if is_own else FLOOR_SECONDS
