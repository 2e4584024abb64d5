"""The object store for the files of posts: S3, a compatible service, or a folder (P8)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError, UsageError

if TYPE_CHECKING:
    from obstore.store import (
        LocalStore,
        S3Config,  # exists for type checkers only
        S3Store,
    )

PART_BYTES = 5 * 1024 * 1024
PARTS_AT_ONCE = 3
CHUNK_BYTES = 256 * 1024
MAX_KEY_LENGTH = 512
SHOWN_ERROR_LENGTH = 200


@dataclass(frozen=True)
class ObjectStoreOptions:
    """`folder` is used unless a bucket is named; without an endpoint the bucket is Amazon's."""

    folder: Path
    bucket: str | None = None
    endpoint: str | None = None
    region: str = "auto"
    access_key_id: str | None = None
    secret_access_key: str | None = field(default=None, repr=False)
    path_prefix: str = ""
    retries: int = 3


def open_object_store(options: ObjectStoreOptions) -> "ObjectStore":
    """Does no I/O: the store is opened at first use, and a folder is created at the first write."""
    return ObjectStore(options)


class ObjectStore:
    """Objects by key. Errors are `object_missing`, or the retryable `store_down`."""

    def __init__(self, options: ObjectStoreOptions) -> None:
        self._options = options
        self._store: LocalStore | S3Store | None = None

    async def put_file(self, key: str, path: Path) -> int:
        """Store a file under the key, replacing an older object; returns its size. It is read in pieces."""
        check_key(key)
        size = (await asyncio.to_thread(path.stat)).st_size
        try:
            with self._telling(key):
                store = await asyncio.to_thread(self._opened, make=True)
                await store.put_async(key, path, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE)
        except ObjectMissing:
            message = "The object store has no place to put it: is there such a bucket?"
            raise RetryableError("store_down", message) from None
        return size

    async def size(self, key: str) -> int | None:
        """The object's size; None if there is no such object."""
        check_key(key)
        try:
            with self._telling(key):
                return (await self._opened().head_async(key))["size"]
        except ObjectMissing:
            return None

    async def read(self, key: str) -> tuple[int, AsyncIterator[bytes]]:
        """Size and content; the content is fetched while it is read."""
        check_key(key)
        with self._telling(key):
            found = await self._opened().get_async(key)
            return found.meta["size"], self._pieces(key, found.stream(min_chunk_size=CHUNK_BYTES))

    async def remove(self, key: str) -> None:
        """Safe to repeat: a missing object is no error."""
        check_key(key)
        try:
            with self._telling(key):
                await self._opened().delete_async(key)
        except ObjectMissing:
            return

    async def _pieces(self, key: str, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        with self._telling(key):
            async for piece in stream:
                yield bytes(piece)

    def _opened(self, *, make: bool = False) -> "LocalStore | S3Store":
        if self._store is None:
            self._store = _open_bucket(self._options) or _open_folder(self._options, make=make)
        return self._store

    @contextmanager
    def _telling(self, key: str) -> Iterator[None]:
        """Turn the store's errors into ours; theirs can quote whole requests, so they are not chained."""
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        try:
            yield
        except FileNotFoundError:
            raise ObjectMissing(key) from None
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise self._described("refuses", error) from None
        except (BaseError, OSError) as error:
            raise self._described("cannot be used", error) from None

    def _described(self, what: str, error: Exception) -> FascicleError:
        shown = (str(error).strip().splitlines() or [type(error).__name__])[0][:SHOWN_ERROR_LENGTH]
        for secret in (self._options.secret_access_key, self._options.access_key_id):
            if secret:
                shown = shown.replace(secret, "***")
        return RetryableError("store_down", f"The object store {what}: {shown}")


class ObjectMissing(PermanentError):
    def __init__(self, key: str) -> None:
        super().__init__("object_missing", f"{key} is not in the object store.")


def check_key(key: str) -> None:
    """Keys come from other programs too: no key may lead out of the store."""
    parts = key.split("/")
    if len(key) > MAX_KEY_LENGTH or not key.isprintable() or any(part in ("", ".", "..") for part in parts):
        raise UsageError(
            "invalid_object_key",
            f"{key[:80]!r} cannot be a key of the object store: names joined by single slashes, no . or ..",
        )


def _open_folder(options: ObjectStoreOptions, *, make: bool) -> "LocalStore":
    from obstore.store import LocalStore

    if not make and not options.folder.is_dir():
        raise FileNotFoundError
    return LocalStore(options.folder.absolute(), mkdir=make)


def _open_bucket(options: ObjectStoreOptions) -> "S3Store | None":
    from obstore.store import S3Store

    if not options.bucket:
        return None
    config: S3Config = {
        "region": options.region,
        # Not every S3-compatible store supports bulk deletes.
        "disable_bulk_delete": True,
        "virtual_hosted_style_request": False,
    }
    if options.endpoint:
        config["endpoint"] = options.endpoint
    if options.access_key_id:
        config["access_key_id"] = options.access_key_id
    if options.secret_access_key:
        config["secret_access_key"] = options.secret_access_key
    return S3Store(
        options.bucket,
        prefix=options.path_prefix.strip("/") or None,
        config=config,
        client_options={
            "allow_http": (options.endpoint or "").startswith("http://"),
            "connect_timeout": timedelta(seconds=5),
            "read_timeout": timedelta(seconds=30),
            # For a whole request: reading a large file is as slow as the upload that it feeds.
            "timeout": timedelta(minutes=10),
        },
        retry_config={"max_retries": options.retries, "retry_timeout": timedelta(seconds=30)},
    )
