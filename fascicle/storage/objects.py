"""Where the posts' files lie."""

from collections.abc import AsyncIterator
from pathlib import Path

import obstore
from obstore.store import LocalStore

from fascicle.domain.errors import PermanentError


class ObjectStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _store(self) -> LocalStore:
        return LocalStore(self._folder, mkdir=True)

    async def put_file(self, key: str, path: Path) -> int:
        await obstore.put_async(self._store(), key, path)
        return path.stat().st_size

    async def size(self, key: str) -> int | None:
        try:
            return int((await obstore.head_async(self._store(), key))["size"])
        except FileNotFoundError:
            return None

    async def read(self, key: str) -> tuple[int, AsyncIterator[bytes]]:
        try:
            found = await obstore.get_async(self._store(), key)
        except FileNotFoundError:
            raise PermanentError("object_missing", f"{key} is not in the object store.") from None

        async def chunks() -> AsyncIterator[bytes]:
            async for chunk in found.stream():
                yield bytes(chunk)

        return int(found.meta["size"]), chunks()

    async def remove(self, key: str) -> None:
        await obstore.delete_async(self._store(), key)
