"""Named AES-256-GCM keys: the first seals new data, and each opens the data that it sealed.

Sealed data is bound to a purpose and opens for no other. Keys appear in no repr and in no error.
"""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fascicle.domain.names import new_id

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY_BYTES = 32
_NONCE_BYTES = 12
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


class KeyMissing(Exception):
    """The ring has no key of that id."""


class DoesNotOpen(Exception):
    """The data was sealed with another key of that id or for another purpose, or it is damaged."""


class Keyring:
    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._ciphers = {key_id: _cipher(key) for key_id, key in keys.items()}
        self._fingerprints = {key_id: _fingerprint(key) for key_id, key in keys.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._ciphers) or 'empty'})"

    @property
    def first(self) -> str | None:
        return next(iter(self._ciphers), None)

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """By key id, in the ring's order. They tell keys apart, and are safe to store and to show."""
        return self._fingerprints

    def seal(self, key_id: str, plain: bytes, *, purpose: bytes) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._ciphers[key_id].encrypt(nonce, plain, purpose)

    def open(self, key_id: str, sealed: bytes, *, purpose: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise KeyMissing
        try:
            return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], purpose)
        except (InvalidTag, ValueError):
            # Drop the cause: it does not help, and it could leak data.
            raise DoesNotOpen from None


def new_key() -> str:
    """A fresh `id:base64` line."""
    return f"{new_id()[:6]}:{base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()}"


def parse_keys(text: str, *, made_by: str = "fascicle account new-key") -> dict[str, bytes]:
    """Entries `id:base64`, separated by commas or lines, with `#` comments. Errors never show a key."""
    keys: dict[str, bytes] = {}
    for place, entry in enumerate(key_entries(text), 1):
        key_id, colon, encoded = entry.partition(":")
        if not colon or not _KEY_ID.fullmatch(key_id):
            raise ValueError(f"key {place} is not of the form id:base64 (`{made_by}` makes one)")
        if key_id in keys:
            raise ValueError(f"the key id {key_id!r} is there twice")
        keys[key_id] = _decoded_key(key_id, encoded)
    if not keys:
        raise ValueError(f"holds no key of the form id:base64 (`{made_by}` makes one)")
    return keys


def key_entries(text: str) -> list[str]:
    lines = [line.partition("#")[0] for line in text.splitlines()]
    return [part.strip() for line in lines for part in line.split(",") if part.strip()]


def _decoded_key(key_id: str, encoded: str) -> bytes:
    try:
        key = base64.b64decode(encoded.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"the key {key_id!r} is not base64") from None
    if len(key) != _KEY_BYTES:
        raise ValueError(f"the key {key_id!r} has {len(key)} bytes, not {_KEY_BYTES}")
    return key


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # most processes have no keys

    return AESGCM(key)


def _fingerprint(key: bytes) -> str:
    """Reveals nothing about a random key except whether another key is the same."""
    return hmac.new(key, b"fascicle:key fingerprint", hashlib.sha256).hexdigest()[:16]
