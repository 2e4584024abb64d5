"""Secrets at rest (P6): AES-256-GCM under named keys, each ciphertext bound to its owner and kind.

A ciphertext reads `v1.{key id}.{base64url(nonce + ciphertext)}`. Copied to another row or column it does not
decrypt. Neither keys nor secrets appear in a repr or an error.
"""

import asyncio
import base64
import binascii
import os
from pathlib import Path

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.names import new_id
from fascicle.storage.operations.keyring import DoesNotOpen, KeyMissing, Keyring, new_key, parse_keys

ACCESS = "access"
REFRESH = "refresh"
CHANNEL = "channel"
"""The kind of a channel's address; its `account_id` is the channel's owner."""

_VERSION = "v1"


class TokenKeys(Keyring):
    """A keyring whose ciphertexts name the key that they need."""

    def encrypt(self, secret: str, *, account_id: str, kind: str) -> str:
        if self.first is None:
            raise PermanentError("no_key", "There is no key to encrypt tokens with. See FASCICLE_TOKEN_KEYS.")
        sealed = self.seal(self.first, secret.encode(), purpose=_bound_to(account_id, kind))
        return f"{_VERSION}.{self.first}.{base64.urlsafe_b64encode(sealed).decode()}"

    def decrypt(self, ciphertext: str, *, account_id: str, kind: str) -> str:
        key_id, sealed = _parts(ciphertext, account_id, kind)
        try:
            return self.open(key_id, sealed, purpose=_bound_to(account_id, kind)).decode()
        except KeyMissing:
            raise PermanentError(
                "key_unknown",
                f"{_secret(account_id, kind)} is encrypted with the key {key_id!r}, which is not here. "
                "Put that key back into FASCICLE_TOKEN_KEYS (or its file), after the first one.",
            ) from None
        except (DoesNotOpen, UnicodeDecodeError):
            raise _cannot_decrypt(
                account_id, kind, f"the key {key_id!r} does not fit, or it was changed"
            ) from None


class Vault:
    """The keyring that the settings name; it is read at first use, and again when a key is missing."""

    def __init__(self, *, keys: str | None, file: Path | None, made_file: Path) -> None:
        self._keys = keys
        self._file = file
        self._made_file = made_file
        self._ring: TokenKeys | None = None

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

    async def keyring(self, *, make: bool = False) -> TokenKeys:
        """`make`: create a key file if no key is configured and none was created yet."""
        # Load an empty ring again: another process may have created the file.
        if self._ring is None or self._ring.first is None:
            self._ring = await asyncio.to_thread(self._load, make)
        return self._ring

    def _load(self, make: bool) -> TokenKeys:
        if self._keys is not None:
            return TokenKeys(parse_keys(self._keys))
        if self._file is not None:
            return _read(self._file, "FASCICLE_TOKEN_KEYS_FILE")
        if make:
            _make(self._made_file)
        if not self._made_file.exists():
            return TokenKeys({})
        return _read(self._made_file, str(self._made_file))


def key_id_of(ciphertext: str) -> str | None:
    parts = ciphertext.split(".")
    return parts[1] if len(parts) == 3 and parts[0] == _VERSION else None


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
        f"{_secret(account_id, kind)} cannot be decrypted: {why}. Restore the key it was written with, or "
        + (
            "add the channel again."
            if kind == CHANNEL
            else "connect the account again: fascicle account connect"
        ),
    )


def _secret(account_id: str, kind: str) -> str:
    if kind == CHANNEL:
        return f"A channel's address of {account_id}"
    return f"The {kind} token of account {account_id}"


def _read(file: Path, name: str) -> TokenKeys:
    try:
        return TokenKeys(parse_keys(file.read_text(encoding="ascii")))
    except OSError as error:
        raise UsageError("wrong_setting", f"{name}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError:
        raise UsageError("wrong_setting", f"{name}: is no text file of keys.") from None
    except ValueError as error:
        raise UsageError("wrong_setting", f"{name}: {error}.") from None


def _make(file: Path) -> None:
    """Create a file with one key atomically; if another process was faster, its file stays."""
    if file.exists():
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}.{new_id()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as opened:
            remark = "# Without this file the tokens and channels in the database are lost: back it up."
            opened.write(f"{remark}\n{new_key()}\n")
            opened.flush()
            os.fsync(opened.fileno())
        # Unlike a rename, a link never replaces an existing file.
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
