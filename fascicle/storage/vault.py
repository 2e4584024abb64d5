"""Secrets at rest (P6): AES-256-GCM under named keys, each ciphertext bound to its account and kind.

A ciphertext reads `v1.{key id}.{base64url(nonce + ciphertext)}`. Copied to another row or column it does not
decrypt. Neither keys nor secrets appear in a repr or an error.
"""

import asyncio
import base64
import binascii
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.names import new_id

ACCESS = "access"
REFRESH = "refresh"

_VERSION = "v1"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


class Keyring:
    """Keys by their ids; the first encrypts what is new."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = dict(keys)

    def __repr__(self) -> str:
        return f"Keyring({', '.join(self._keys) or 'empty'})"

    @property
    def first(self) -> str | None:
        return next(iter(self._keys), None)

    def encrypt(self, secret: str, *, account_id: str, kind: str) -> str:
        if self.first is None:
            raise PermanentError("no_key", "There is no key to encrypt tokens with. See FASCICLE_TOKEN_KEYS.")
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._keys[self.first]).encrypt(nonce, secret.encode(), _bound_to(account_id, kind))
        return f"{_VERSION}.{self.first}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def decrypt(self, ciphertext: str, *, account_id: str, kind: str) -> str:
        key_id, sealed = _parts(ciphertext, account_id, kind)
        key = self._keys.get(key_id)
        if key is None:
            raise PermanentError(
                "key_unknown",
                f"The {kind} token of account {account_id} is encrypted with the key {key_id!r}, which is "
                "not here. Put that key back into FASCICLE_TOKEN_KEYS (or its file), after the first one.",
            )
        try:
            nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            return AESGCM(key).decrypt(nonce, body, _bound_to(account_id, kind)).decode()
        except (InvalidTag, ValueError):
            # Without the cause: nothing of it helps, and it must not carry anything out.
            raise _cannot_decrypt(
                account_id, kind, f"the key {key_id!r} does not fit, or it was changed"
            ) from None


class Vault:
    """The keyring where the settings say it is; read at first need, and again when a key is missing."""

    def __init__(self, *, keys: str | None, file: Path | None, made_file: Path) -> None:
        self._keys = keys
        self._file = file
        self._made_file = made_file
        self._ring: Keyring | None = None

    def __repr__(self) -> str:
        return "Vault()"

    async def encrypt(self, secret: str, *, account_id: str, kind: str) -> str:
        return (await self.keyring(make=True)).encrypt(secret, account_id=account_id, kind=kind)

    async def decrypt(self, ciphertext: str, *, account_id: str, kind: str) -> str:
        ring = await self.keyring()
        try:
            return ring.decrypt(ciphertext, account_id=account_id, kind=kind)
        except PermanentError as error:
            if error.code != "key_unknown":
                raise
        # A key may have been added to the file since we read it.
        self._ring = None
        return (await self.keyring()).decrypt(ciphertext, account_id=account_id, kind=kind)

    async def keyring(self, *, make: bool = False) -> Keyring:
        """`make`: a key of our own if none is configured and none was made yet."""
        if self._ring is None or (make and self._ring.first is None):
            self._ring = await asyncio.to_thread(self._load, make)
        return self._ring

    def _load(self, make: bool) -> Keyring:
        if self._keys is not None:
            return Keyring(parse_keys(self._keys))
        if self._file is not None:
            return _read(self._file, "FASCICLE_TOKEN_KEYS_FILE")
        if make:
            _make(self._made_file)
        if not self._made_file.exists():
            return Keyring({})
        return _read(self._made_file, str(self._made_file))


def new_key() -> str:
    """A fresh `id:base64` line."""
    return f"{new_id()[:6]}:{base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()}"


def parse_keys(text: str) -> dict[str, bytes]:
    """`id:base64` parted by commas or lines, `#` for remarks. A ValueError, which never shows a key."""
    keys: dict[str, bytes] = {}
    lines = [line.partition("#")[0] for line in text.splitlines()]
    entries = [part.strip() for line in lines for part in line.split(",") if part.strip()]
    for place, entry in enumerate(entries, 1):
        key_id, colon, encoded = entry.partition(":")
        if not colon or not _KEY_ID.fullmatch(key_id):
            raise ValueError(
                f"key {place} is not of the form id:base64 (`fascicle account new-key` makes one)"
            )
        if key_id in keys:
            raise ValueError(f"the key id {key_id!r} is there twice")
        keys[key_id] = _decoded_key(key_id, encoded)
    if not keys:
        raise ValueError("holds no key of the form id:base64 (`fascicle account new-key` makes one)")
    return keys


def key_id_of(ciphertext: str) -> str | None:
    parts = ciphertext.split(".")
    return parts[1] if len(parts) == 3 and parts[0] == _VERSION else None


def _decoded_key(key_id: str, encoded: str) -> bytes:
    try:
        key = base64.b64decode(encoded.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"the key {key_id!r} is not base64") from None
    if len(key) != _KEY_BYTES:
        raise ValueError(f"the key {key_id!r} has {len(key)} bytes, not {_KEY_BYTES}")
    return key


def _bound_to(account_id: str, kind: str) -> bytes:
    return f"fascicle:{_VERSION}:{account_id}:{kind}".encode()


def _parts(ciphertext: str, account_id: str, kind: str) -> tuple[str, bytes]:
    key_id = key_id_of(ciphertext)
    if key_id is None:
        raise _cannot_decrypt(account_id, kind, "it is not in the form this version writes")
    try:
        return key_id, base64.urlsafe_b64decode(ciphertext.rpartition(".")[2])
    except (binascii.Error, ValueError):
        raise _cannot_decrypt(account_id, kind, "it is damaged") from None


def _cannot_decrypt(account_id: str, kind: str, why: str) -> PermanentError:
    return PermanentError(
        "cannot_decrypt",
        f"The {kind} token of account {account_id} cannot be decrypted: {why}. Restore the key it was "
        "written with, or connect the account again: fascicle account connect",
    )


def _read(file: Path, name: str) -> Keyring:
    try:
        return Keyring(parse_keys(file.read_text(encoding="ascii")))
    except OSError as error:
        raise UsageError("wrong_setting", f"{name}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError:
        raise UsageError("wrong_setting", f"{name}: is no text file of keys.") from None
    except ValueError as error:
        raise UsageError("wrong_setting", f"{name}: {error}.") from None


def _make(file: Path) -> None:
    """A file with one key, whole from the first instant; if another process was faster, its file stays."""
    if file.exists():
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}.{new_id()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as opened:
            opened.write(
                f"# Without this file the tokens in the database are lost: back it up.\n{new_key()}\n"
            )
            opened.flush()
            os.fsync(opened.fileno())
        # Unlike a rename, a link never replaces what is there.
        file.hardlink_to(draft)
        _sync_folder(file.parent)
    except FileExistsError:
        return
    except OSError as error:
        raise UsageError(
            "no_key", f"{file} cannot be written ({error.strerror}). Set FASCICLE_TOKEN_KEYS instead."
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
