"""Ids derived from names, so that the same script gives the same world."""

from functools import lru_cache
from uuid import UUID, uuid5

NAMESPACE = UUID("6d1f0c1e-5d0b-5a63-9d5e-0f6a4f0c2a10")


@lru_cache(maxsize=4096)
def derived_id(kind: str, name: str) -> str:
    return str(uuid5(NAMESPACE, f"{kind}:{name}"))


def upload_id(series_id: str, number: int) -> str:
    """The id of the `number`-th upload a series ever had; withdrawn ones keep theirs."""
    return str(uuid5(UUID(series_id), f"upload:{number}"))
