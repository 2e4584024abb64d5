"""One publish call, and its records in the database."""

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fascicle.domain.errors import FascicleError, PermanentError
from fascicle.storage.database import transaction
from fascicle.storage.publishing import publication as publishing


class Superseded(PermanentError):
    """The post was cancelled, or another worker continues it."""


class PublishCall:
    def __init__(self, engine: AsyncEngine, post_id: str, file_id: int, number: int) -> None:
        self._engine = engine
        self._post_id = post_id
        self._file_id = file_id
        self._number = number
        self._committed = False

    async def intend(self) -> None:
        async with transaction(self._engine) as connection:
            if not await publishing.intend(connection, self._post_id, self._file_id, self._number):
                raise Superseded("superseded", f"Post {self._post_id} is somebody else's by now.")
        self._committed = True

    async def withdraw(self, error: FascicleError) -> None:
        """The site refused, or nothing was sent. Another attempt of the same step is the next call."""
        if not self._committed:
            return
        async with transaction(self._engine) as connection:
            await publishing.withdraw_intent(connection, self._post_id, self._file_id, self._number)
            await self._write(connection, "refused", error)
        self._committed = False
        self._number += 1

    @property
    def number(self) -> int:
        """The number of the last call that was made."""
        return self._number if self._committed else self._number - 1

    async def was_refused_as_published(self, error: FascicleError) -> None:
        async with transaction(self._engine) as connection:
            await publishing.refused_as_published(connection, self._file_id)
            await self._write(connection, "refused_as_published", error)

    async def note(self, kind: str, error: FascicleError) -> None:
        async with transaction(self._engine) as connection:
            await self._write(connection, kind, error)

    async def _write(self, connection: AsyncConnection, kind: str, error: FascicleError) -> None:
        detail = {"file": self._file_id, "call": self._number, "code": error.code, "why": error.message}
        await publishing.note(connection, self._post_id, kind, detail)
