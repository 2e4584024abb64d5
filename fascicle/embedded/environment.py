"""The part of this process's environment that a child process needs; the rest may be secrets."""

import os
from collections.abc import Iterable

_NEEDED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"})
# The limits of Go programs, and the library paths that this Python may need.
_OF_PROGRAMS = frozenset({"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"})


def bare_environment(*prefixes: str) -> dict[str, str]:
    """`prefixes`: also keep the variables whose names begin with one of them."""
    return {name: value for name, value in os.environ.items() if _is_needed(name, ("LC_", *prefixes))}


def _is_needed(name: str, prefixes: Iterable[str]) -> bool:
    return name in _NEEDED | _OF_PROGRAMS or any(name.startswith(prefix) for prefix in prefixes)
