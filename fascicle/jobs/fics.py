"""Fics that people asked for."""

from pydantic import BaseModel
from temporalio.common import Priority

from fascicle.domain.fics.fic import FicRef
from fascicle.domain.names import LOOK_AGAIN_SIGNAL, fic_workflow_id
from fascicle.jobs.job import Job, fairness_key


class FicInput(BaseModel):
    """A fic's normal form: what its workflow is about."""

    ref: FicRef


def fic_priority(ref: FicRef) -> Priority:
    """The highest: a person waits. Sites of the same priority take turns."""
    return Priority(priority_key=1, fairness_key=fairness_key(ref.site))


def parse_fic_job(ref: FicRef) -> Job:
    return Job(
        workflow="ParseFicWorkflow",
        input=FicInput(ref=ref),
        id=fic_workflow_id(ref.key),
        summary=ref.url[:200],
        priority=fic_priority(ref),
        attributes={"Site": ref.site},
        signal=LOOK_AGAIN_SIGNAL,
    )
