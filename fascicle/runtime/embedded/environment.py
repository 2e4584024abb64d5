"""What a child process needs of this process's environment, in which secrets are."""

import os
from collections.abc import Iterable

_NEEDED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"})
# How much of the machine Go takes; where the loader finds what this very Python was built with.
_OF_PROGRAMS = frozenset({"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"})


def bare_environment(*prefixes: str) -> dict[str, str]:
    """`prefixes`: also the variables whose names begin so."""
    return {name: value for name, value in os.environ.items() if _is_needed(name, ("LC_", *prefixes))}


def _is_needed(name: str, prefixes: Iterable[str]) -> bool:
    return name in _NEEDED | _OF_PROGRAMS or any(name.startswith(prefix) for prefix in prefixes)
