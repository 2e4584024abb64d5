"""Chapter keys (C5): canonical decimal text, except where a source itself tells 0.10 from 0.1.

Forms of one number: `raw` is what the site wrote (`045.50`), its `exact form` has no leading zeros and no
empty fraction (`45.50`), its `canonical form` has no trailing zeros either (`45.5`).
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Protocol

_DECIMAL = re.compile(r"\s*0*(\d{1,12})(?:\.(\d{1,8}))?\s*", re.ASCII)


class _Numbered(Protocol):
    @property
    def upload_id(self) -> str: ...
    @property
    def number(self) -> str | None: ...
    @property
    def volume(self) -> str | None: ...


def exact_form(raw: str | None) -> str | None:
    """`045.50` → `45.50`, `45.0` → `45`; None when it is no decimal number."""
    match = _DECIMAL.fullmatch(raw or "")
    if match is None:
        return None
    whole, fraction = match.groups()
    return f"{whole}.{fraction}" if fraction and fraction.strip("0") else whole


def canonical_form(exact: str) -> str:
    return exact.rstrip("0") if "." in exact else exact


def number_of(raw: str | None) -> Decimal | None:
    exact = exact_form(raw)
    return None if exact is None else Decimal(canonical_form(exact))


def assign_keys(
    uploads: Iterable[_Numbered], raw_by_key: Mapping[str, str | None], *, per_volume: bool = False
) -> dict[str, str]:
    """Give uploads that have no chapter key yet (or a new number) theirs, by upload id.

    `raw_by_key` must hold the source's stored keys for the numbers concerned, so that the answer does not
    depend on how much of the list was fetched. Volumes enter the key only `per_volume`.
    """
    taken = {key: exact_form(raw) for key, raw in raw_by_key.items()}
    keys: dict[str, str] = {}
    # Shortest form first: when 0.1 and 0.10 arrive together, the plain key belongs to 0.1.
    for upload in sorted(uploads, key=lambda u: (len(exact_form(u.number) or ""), u.upload_id)):
        exact = exact_form(upload.number)
        if exact is None:
            keys[upload.upload_id] = f"x:{upload.upload_id}"
            continue
        volume = (upload.volume or "").strip() if per_volume else ""
        prefix = f"v{exact_form(volume) or volume}:" if volume else ""
        key = _free_key(prefix, exact, taken)
        keys[upload.upload_id] = key
        taken[key] = exact
    return keys


def _free_key(prefix: str, exact: str, taken: Mapping[str, str | None]) -> str:
    canonical = canonical_form(exact)
    candidates = (prefix + canonical, prefix + exact, f"{prefix}{canonical}:{exact}")
    # The form's own key if it has one already, else the first that no other form holds.
    return next(
        (key for key in candidates if taken.get(key) == exact),
        next((key for key in candidates if key not in taken), candidates[-1]),
    )
