"""Posts on their way to a gallery."""

from pydantic import BaseModel
from temporalio.common import Priority

from fascicle.domain.harmless_text import for_web_ui
from fascicle.domain.names import LOOK_AGAIN_SIGNAL, publish_workflow_id
from fascicle.jobs.job import Job


class PublishInput(BaseModel):
    post_id: str
    retry: bool = False
    """Retry the post if it has failed."""
    looks: int = 0
    checked: bool = False
    """The progress of an earlier run of the workflow."""


def post_job(post_id: str, *, title: str, account_id: str) -> Job:
    """The post's row decides what happens: a workflow of a post that needs nothing ends at once."""
    return Job(
        workflow="PublishPostWorkflow",
        input=PublishInput(post_id=post_id),
        id=publish_workflow_id(post_id),
        summary=for_web_ui(title),
        priority=Priority(priority_key=2, fairness_key=account_id),
        attributes={"Site": "deviantart"},
        signal=LOOK_AGAIN_SIGNAL,
    )
