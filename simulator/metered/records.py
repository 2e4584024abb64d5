"""Paid calls, and the scripts of their answers."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class ServiceOptions(BaseModel):
    """Without `api_key`, any key that is not empty is valid. `latency` is the seconds each answer takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_key: str | None = None
    latency: Annotated[float, Field(ge=0)] = 0.0


class Script(BaseModel):
    """How to answer the next calls: of those it concerns, it skips `skip`, then hits `count` (None: all)."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    count: Annotated[int, Field(ge=1)] | None = 1
    skip: Annotated[int, Field(ge=0)] = 0

    @property
    def name(self) -> str:
        """The script's name in the ledger."""
        return "script"

    def concerns(self, subject: str) -> bool:
        """Whether the script applies to calls about this subject: a model, an address."""
        return True


class PaidCall(BaseModel):
    """One call that reached the service; times are UNIX times.

    `paid`: the answer costs money, whether or not it arrived. `script` names the script that decided the
    answer. `sent` is None while the call is under way, then whether the whole answer was sent to a client
    that was still connected, as far as a server can know.
    """

    number: int = 0
    received_at: float = 0.0
    answered_at: float | None = None
    status: int | None = None
    script: str | None = None
    paid: bool = False
    cost: float = 0.0
    sent: bool | None = None


class Tally(BaseModel):
    """`most_at_once`: the highest number of calls that were waiting for their answer at the same time."""

    calls: int
    paid: int
    cost: float
    under_way: int
    most_at_once: int
