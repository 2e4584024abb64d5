"""The facts about a source after a look at it."""

from datetime import datetime

from pydantic import BaseModel

from fascicle.domain.series.breaker import Circuit
from fascicle.domain.series.cadence import Cadence


class SourceFacts(BaseModel):
    """The facts that the workflow shows and decides by."""

    site: str
    series_id: str
    title: str
    cadence: Cadence
    circuit: Circuit
    failure_count: int = 0
    next_check_at: datetime
    reason: str = ""
    """The reason for `next_check_at`."""
    chapters: int = 0
