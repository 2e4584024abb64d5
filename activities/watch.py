"""Watching a source: Temporal itself repeats a look that finds nothing, without waking the workflow.

An idle look ends as a benign failure with the time of its retry. It leaves no event in the history, so
nothing is replayed for it, however long a source stays quiet. Only a look on which the workflow must act is a
result.
"""

from datetime import datetime, timedelta

from pydantic import BaseModel
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from fascicle.domain.names import NOTHING_NEW
from fascicle.domain.series.cadence import Cadence

# Temporal treats a delay of zero as none, and would use the retry policy's delay.
_SHORTEST = timedelta(milliseconds=1)


class Watch(BaseModel):
    """The values that the workflow shows of its source: a look that changes one of them is a result."""

    cadence: Cadence
    title: str
    resumed: bool = False
    """The watch was interrupted: the first look waits for the time in the database."""


def time_of_attempt(scheduled: datetime) -> datetime:
    """The workflow's time when this attempt began: by the server's clock, since tests skip time."""
    info = activity.info()
    return scheduled + (info.started_time - info.scheduled_time)


def is_first_attempt() -> bool:
    return activity.info().attempt == 1


def look_again(at: datetime, now: datetime, outcome: str, reason: str) -> ApplicationError:
    """The error to raise if there is nothing for the workflow to do; the next look is at `at`."""
    why = f" ({reason})" if reason else ""
    return ApplicationError(
        f"{outcome}; next look {at:%d %b %H:%M:%S} UTC{why}",
        type=NOTHING_NEW,
        next_retry_delay=max(at - now, _SHORTEST),
        category=ApplicationErrorCategory.BENIGN,
    )


def is_idle_look(error: BaseException) -> bool:
    return isinstance(error, ApplicationError) and error.type == NOTHING_NEW
