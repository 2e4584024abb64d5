"""What comes next for a fic."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel


class FicStep(StrEnum):
    WAIT = "wait"
    FETCH = "fetch"
    TELL = "tell"
    OVER = "over"


class FicPlanInput(BaseModel):
    key: str
    now: datetime


class FicPlan(BaseModel):
    step: FicStep
    key: str = ""
    round: int = 0
    state: str = "?"
    wait_seconds: float | None = None
    why: str = ""
    position: int | None = None
    eta_seconds: float | None = None
