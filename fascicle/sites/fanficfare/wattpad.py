"""Wattpad: a part's address does not name its story, so the site is asked for it."""

import json

from fascicle.domain.errors import PermanentError
from fascicle.domain.fics.fic import FicCode


def wattpad_lookup_url(part_id: str) -> str:
    if not (part_id.isascii() and part_id.isdecimal()):
        raise PermanentError(FicCode.NOT_FOUND, f"{part_id!r} is no part of a Wattpad story.")
    return f"https://www.wattpad.com/v4/parts/{part_id}?fields=group(id)"


def wattpad_story_of(body: bytes) -> str:
    """The story's id, from the answer to `wattpad_lookup_url`."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise _unexpected() from None
    if not isinstance(answer, dict):
        raise _unexpected()
    group = answer.get("group")
    if not group:
        raise PermanentError(FicCode.NOT_FOUND, "Wattpad knows no story with that part.")
    story = str(group.get("id")) if isinstance(group, dict) else ""
    if not (story.isascii() and story.isdecimal()):
        raise _unexpected()
    return story


def _unexpected() -> PermanentError:
    return PermanentError(
        FicCode.PARSER_BROKEN, "Wattpad answered oddly when asked which story that part belongs to."
    )
