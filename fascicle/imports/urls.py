"""A list of addresses, one per line; `#` begins a comment."""

import re

from fascicle.imports.wanted import Parsed, Wanted, url_text

# A fragment is part of an address: only a # at the beginning or after a space is a comment.
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_ADDRESS = re.compile(r"https?://[^\s,;]+", re.IGNORECASE)


def parse_urls(text: str) -> Parsed:
    return Parsed([Wanted(url=url_text(line)) for line in content_lines(text)])


def content_lines(text: str) -> list[str]:
    """The lines that are not empty, without comments."""
    return [line for raw in text.splitlines() if (line := _COMMENT.sub("", raw).strip())]


def looks_like_urls(text: str) -> bool:
    """Most lines are an address and nothing else."""
    lines = content_lines(text)
    return not lines or 2 * sum(bool(_ADDRESS.fullmatch(line)) for line in lines) > len(lines)
