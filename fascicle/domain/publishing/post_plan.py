"""What comes next for a post."""

from datetime import datetime

from pydantic import BaseModel

from fascicle.domain.publishing.publication import Step


class PlanInput(BaseModel):
    post_id: str
    now: datetime
    checked: bool = False
    """The account's token was tried in this run."""


class Plan(BaseModel):
    step: Step
    state: str
    title: str = ""
    account: str = ""
    account_id: str = ""
    due_at: datetime | None = None
    why: str = ""
    wait_seconds: float | None = None
    """The length of a wait; None: until a signal comes."""
    file_id: int | None = None
    file_label: str = ""
    call: int = 0
    """The number of the next publish call; the call before it was the last one made."""
    intent_at: datetime | None = None
    looks: list[float] = []
    timeout_seconds: float = 600.0
    attempts: int = 0
    urls: list[str] = []
