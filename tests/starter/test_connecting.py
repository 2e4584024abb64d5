"""Connecting again (P6): the posts that waited for the account go on."""

from fascicle.domain.names import publish_workflow_id
from starter.connecting import wake_posts
from tests.accounts import connect_account
from tests.harness import Harness


async def test_p6_posts_that_wait_for_the_account_look_again(harness: Harness) -> None:
    account_id = await connect_account(harness)
    states = {"late": "scheduled", "busy": "publishing", "idle": "draft", "out": "published"}
    for post_id, state in states.items():
        await harness.execute(
            """insert into post (id, account_id, title, state, publish_at)
               values (:id, :account, 't', :state, now())""",
            id=post_id,
            account=account_id,
            state=state,
        )
    woken = await wake_posts(harness.dependencies, harness.client, account_id)
    assert woken == 2
    for post_id in ("late", "busy"):
        described = await harness.client.get_workflow_handle(publish_workflow_id(post_id)).describe()
        assert described.workflow_type == "PublishPostWorkflow"
