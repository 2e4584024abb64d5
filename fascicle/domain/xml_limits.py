"""A limit that keeps an XML parser from taking time by the square of a document's length."""

import re

MOST_ATTRIBUTES = 300
# Possessive: from each `<` it reads on to the next one at most, and only once.
_ENDLESS_TAG = re.compile(
    r"""<[^\s<>/!?="']++(?:[^<>="']*+=\s*+(?:"[^"<]*+"|'[^'<]*+')){"""
    rf"{MOST_ATTRIBUTES + 1}}}"
)


def has_endless_tag(document: str) -> bool:
    """Has an element more attributes than any program would write? Expat compares each with all others."""
    return _ENDLESS_TAG.search(document) is not None
