"""Posts: what may be published, and in which states they are (P1)."""

import re
from collections.abc import Sequence
from enum import StrEnum

from fascicle.domain.errors import UsageError

MAX_TITLE = 50
MAX_TAGS = 30
MAX_TAG = 100
MAX_DESCRIPTION = 60_000
MAX_FILES = 20
MATURE_LEVELS = ("strict", "moderate")
MATURE_CLASSES = ("nudity", "sexual", "gore", "language", "ideology")
_TAG = re.compile(rf"[A-Za-z0-9_]{{1,{MAX_TAG}}}")


class PostState(StrEnum):
    DRAFT = "draft"
    SCHEDULED = "scheduled"
    UPLOADING = "uploading"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    FAILED = "failed"
    UNCONFIRMED = "unconfirmed"
    CANCELLED = "cancelled"


# The columns of the table that `check_post` checks.
CHECKED = (
    "title",
    "description",
    "tags",
    "is_mature",
    "mature_level",
    "mature_classification",
    "display_resolution",
)


def check_post(
    *,
    title: str,
    description: str | None = None,
    tags: Sequence[str] | None = None,
    is_mature: bool | None = None,
    mature_level: str | None = None,
    mature_classification: Sequence[str] | None = None,
    display_resolution: int | None = None,
) -> None:
    """Raise a UsageError for values that the site would refuse, before anything is uploaded."""
    if not title.strip():
        raise _wrong("A post needs a title.")
    if len(title) > MAX_TITLE:
        raise _wrong(f"The title has {len(title):,} characters; {MAX_TITLE} are allowed.")
    if not title.isprintable():
        raise _wrong("The title has line breaks or control characters.")
    if description is not None and len(description) > MAX_DESCRIPTION:
        raise _wrong(f"The description has {len(description):,} characters; {MAX_DESCRIPTION:,} are allowed.")
    _check_tags(tags or ())
    if mature_level is not None and mature_level not in MATURE_LEVELS:
        raise _wrong(f"{mature_level!r} is no mature level: use {' or '.join(MATURE_LEVELS)}.")
    if is_mature and mature_level is None:
        raise _wrong("A mature post needs its level: strict or moderate.")
    for given in mature_classification or ():
        if given not in MATURE_CLASSES:
            raise _wrong(f"{given!r} is no mature classification: use {', '.join(MATURE_CLASSES)}.")
    if display_resolution is not None and not 0 <= display_resolution <= 8:
        raise _wrong("A display resolution is a number from 0 (original) to 8.")


def check_size(name: str, size: int, *, largest: int) -> None:
    if size == 0:
        raise _wrong(f"{name} is empty.")
    if size > largest:
        raise _wrong(f"{name} has {size:,} bytes; {largest:,} are allowed (FASCICLE_FILE_MAX_BYTES).")


def _check_tags(tags: Sequence[str]) -> None:
    if len(tags) > MAX_TAGS:
        raise _wrong(f"{len(tags)} tags; {MAX_TAGS} are allowed.")
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise _wrong(f"The tag {tag[:60]!r} must be letters, digits and underscores.")


def _wrong(message: str) -> UsageError:
    return UsageError("invalid_post", message)
