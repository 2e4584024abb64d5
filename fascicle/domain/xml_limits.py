"""What keeps a parser of XML from taking the square of a document's length."""

import re

MOST_ATTRIBUTES = 300
# Possessive: from each `<` it reads on to the next one at most, and only once.
_ENDLESS_TAG = re.compile(
    r"""<[^\s<>/!?="']++(?:[^<>="']*+=\s*+(?:"[^"<]*+"|'[^'<]*+')){"""
    rf"{MOST_ATTRIBUTES + 1}}}"
)


def has_endless_tag(document: str) -> bool:
    """Whether an element has more attributes than any program would write: expat compares each with all."""
    return _ENDLESS_TAG.search(document) is not None
