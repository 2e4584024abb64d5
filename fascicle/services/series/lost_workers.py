"""Polls that may end the worker: each is noted while it runs, so that the next attempt can see a loss."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import ErrorRecord, MustWait, PermanentError
from fascicle.storage.database import transaction
from fascicle.storage.series import source_loss
from fascicle.storage.series.source import Source

# So many losses in a row are no accident: they count as a failed poll of the source.
LOSSES_UNTIL_FAILURE = 3
WORKER_LOST = "worker_lost"
LOST_AGAIN = "worker_lost_again"
_TURN_SECONDS = 5.0


@asynccontextmanager
async def noted_poll(engine: AsyncEngine, source: Source, *, watched: bool) -> AsyncIterator[None]:
    """Use this around a poll. A watched source without losses is not noted, which saves the writes.

    MustWait: another suspected source is being polled. PermanentError: the worker ended too often.
    """
    if watched and not source.losses:
        yield
        return
    async with transaction(engine) as connection:
        begun = await source_loss.begin(connection, source.id)
    if not begun.granted:
        raise MustWait(
            "gate_wait",
            "polled alone, after others that may end the worker",
            seconds=_TURN_SECONDS,
            refused=False,
        )
    cleared = False
    try:
        if begun.was_lost and begun.losses >= LOSSES_UNTIL_FAILURE:
            raise PermanentError(LOST_AGAIN, _words(begun.losses))
        yield
        cleared = True
    finally:
        async with transaction(engine) as connection:
            await source_loss.end(connection, source.id, cleared=cleared)


def as_failure(error: ErrorRecord, losses: int) -> ErrorRecord:
    """After enough losses, replace the error by one that names the source as the likely cause."""
    if losses < LOSSES_UNTIL_FAILURE:
        return error
    named = {"error_code": LOST_AGAIN, "message": _words(losses), "retryable": False}
    return error.model_copy(update=named)


def _words(losses: int) -> str:
    return (
        f"The worker ended {losses} times in a row while it polled this source. What the source sends may be "
        "the reason: its circuit opens if that goes on."
    )
