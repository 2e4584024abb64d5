"""One upload of a chapter."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf

from simulator.specs import UploadSpec

DEFAULT_PAGES = 20
NULLABLE = {"chapter", "volume", "title", "external_url"}


# Compared by identity: a revision is a new object, so renderings can be cached by object.
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Upload:
    id: str
    series_id: str
    ordinal: int
    chapter: str | None
    volume: str | None
    title: str | None
    language: str
    groups: tuple[str, ...]
    uploader: str
    external_url: str | None
    pages: int
    is_unavailable: bool
    created_at: datetime
    updated_at: datetime
    publish_at: datetime
    readable_at: datetime
    version: int = 1
    sites: tuple[str, ...] = ("mangadex",)


def revised(upload: Upload, spec: UploadSpec, now: datetime) -> Upload:
    """The upload with the spec's fields and the next version; `updated_at` is by default `now`."""
    named = {name: getattr(spec, name) for name in spec.model_fields_set - {"id"}}
    changes = {name: value for name, value in named.items() if value is not None or name in NULLABLE}
    return replace(upload, **{"updated_at": now, **changes}, version=upload.version + 1)


def numeric_value(text: str | None) -> float:
    """The sort key of a chapter or volume; those without a number come last."""
    number = re.match(r"\d+(\.\d+)?", text or "")
    return float(number[0]) if number else inf
