"""The shortest distance between requests to the Archive of Our Own (F3); no setting lowers it."""

from collections.abc import Collection
from urllib.parse import urlsplit

FLOOR_SECONDS = 20.0

# The archive's names, and mirrors that lead to it: the floor holds even if `allow_hosts` names one of them.
ARCHIVE_HOSTS = (
    "archiveofourown.org",
    "archiveofourown.com",
    "archiveofourown.net",
    "archiveofourown.gay",
    "ao3.org",
    "archive.transformativeworks.org",
)


def is_archive(host: str) -> bool:
    """Does a request to that host reach the archive, by any of its names?"""
    bare = host.lower().rstrip(".")
    return any(bare == name or bare.endswith(f".{name}") for name in ARCHIVE_HOSTS)


def ao3_floor(base_url: str, allow_hosts: Collection[str]) -> float:
    """The shortest distance between two requests, in seconds; 0 for a server of your own."""
    parts = urlsplit(base_url)
    host = (parts.hostname or "").rstrip(".")
    if is_archive(host):
        return FLOOR_SECONDS
    is_own = host in allow_hosts or parts.netloc in allow_hosts
    return 0.0 if is_own else FLOOR_SECONDS
