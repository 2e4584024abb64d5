"""Dead letters that are tried again."""

from pydantic import BaseModel

from fascicle.domain.names import new_id
from fascicle.jobs.job import Job


class ReplayLettersResult(BaseModel):
    replayed: list[int] = []
    failed: dict[int, str] = {}
    after: int = 0


class ReplayLettersInput(BaseModel):
    """The letters by number, or all open ones of an error code or a kind. Nothing given: all open ones."""

    letters: list[int] = []
    code: str | None = None
    kind: str | None = None
    state: ReplayLettersResult | None = None


def replay_letters_job(replay: ReplayLettersInput, count: int) -> Job:
    return Job(
        workflow="ReplayLettersWorkflow",
        input=replay,
        id=f"replay-letters-{new_id()}",
        summary=f"replay of {count} dead letters",
    )
