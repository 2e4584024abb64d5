"""How many files and connections this process may have open."""

import resource
from contextlib import suppress

# The usual soft limit of 1,024 is from a time of `select`; each connection counts.
_WANTED = 16_384


def raise_limit() -> None:
    """As far as the system lets a process go by itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
