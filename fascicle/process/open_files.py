"""The limit of open files and connections of this process."""

import resource
from contextlib import suppress

# The usual soft limit of 1,024 is from the time of `select`; each connection counts.
_WANTED = 16_384


def raise_limit() -> None:
    """Raise the limit as far as the system allows an ordinary process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
