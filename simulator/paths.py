"""The path patterns by which faults, limits and log queries choose requests."""

from fnmatch import fnmatchcase


def path_matches(pattern: str, path: str) -> bool:
    """A pattern with `*` or `?` must fit the whole path; any other is a prefix."""
    if "*" in pattern or "?" in pattern:
        return fnmatchcase(path, pattern)
    return path.startswith(pattern)
