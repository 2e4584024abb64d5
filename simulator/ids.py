"""Ids derived from names, so that the same script gives the same world."""

import re
from functools import lru_cache
from uuid import UUID, uuid5

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
NAMESPACE = UUID("6d1f0c1e-5d0b-5a63-9d5e-0f6a4f0c2a10")


@lru_cache(maxsize=4096)
def derived_id(kind: str, name: str) -> str:
    return str(uuid5(NAMESPACE, f"{kind}:{name}"))


def upload_id(series_id: str, number: int) -> str:
    """The id of the `number`-th upload that a series ever had; withdrawn uploads count too."""
    return str(uuid5(UUID(series_id), f"upload:{number}"))


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


@lru_cache(maxsize=4096)
def numeric_id(uuid: str) -> int:
    """The same thing's id on a site with numeric ids."""
    return UUID(uuid).int % 10**9


@lru_cache(maxsize=4096)
def ulid(uuid: str) -> str:
    number = UUID(uuid).int
    return "".join(CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def short_id(uuid: str) -> str:
    return uuid.replace("-", "")[:16]
