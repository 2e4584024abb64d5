"""What tests of publishing need: accounts at the simulated DeviantArt, posts, and the judge's log."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fascicle.domain.names import publish_workflow_id
from fascicle.jobs.publishing import post_job
from fascicle.services.publishing.new_post import NewPost, create_post
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post as posts
from fascicle.temporal.workflow_start import start_job
from tests.accounts import connect_account
from tests.harness import Harness, eventually

SUBMIT = "/deviantart/api/v1/oauth2/stash/submit"
PUBLISH = "/deviantart/api/v1/oauth2/stash/publish"
GALLERY = "/deviantart/api/v1/oauth2/gallery/all"
PLACEBO = "/deviantart/api/v1/oauth2/placebo"
TOKEN = "/deviantart/oauth2/token"

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8ffff3f0005fe02fe"
    "dccc59e70000000049454e44ae426082"
)

__all__ = ["connect_account"]

# As the defaults, only faster.
FAST = {
    "publish_look_seconds": [0.1, 0.1, 0.2],
    "publish_retry_seconds": 0.05,
}


async def draft(
    stack: Harness, account_id: str, title: str = "Ink", *, files: int = 1, **options: Any
) -> str:
    folder = Path(str(stack.dependencies.settings.files_dir)).parent
    paths = [folder / f"{title.replace(' ', '_')}-{n}.png" for n in range(1, files + 1)]
    for number, path in enumerate(paths):
        path.write_bytes(PIXEL + title.encode() + bytes([number]))
    return await create_post(stack.dependencies, account_id, NewPost(paths, title, options))


async def scheduled(
    stack: Harness,
    account_id: str,
    title: str = "Ink",
    *,
    due_in: float = 0.0,
    files: int = 1,
    **options: Any,
) -> str:
    """A post that is due by now, or in so many seconds, and its workflow."""
    post_id = await draft(stack, account_id, title, files=files, **options)
    when = datetime.now(UTC) + timedelta(seconds=due_in)
    async with transaction(stack.dependencies.engine) as connection:
        await posts.schedule(connection, post_id, when)
    await start_job(stack.client, post_job(post_id, title=title, account_id=account_id))
    return post_id


async def state_of(stack: Harness, post_id: str) -> str:
    return str(await stack.value("select state from post where id = :id", id=post_id))


async def until_state(stack: Harness, post_id: str, *states: str, within: float = 40.0) -> str:
    async def reached() -> str | None:
        state = await state_of(stack, post_id)
        return state if state in states else None

    return str(await eventually(reached, within=within, what=f"post {post_id} to be {' or '.join(states)}"))


async def until_over(stack: Harness, post_id: str, *, within: float = 40.0) -> str:
    over = ("published", "failed", "unconfirmed", "cancelled")
    state = await until_state(stack, post_id, *over, within=within)
    await stack.client.get_workflow_handle(publish_workflow_id(post_id)).result()
    return state


async def story(stack: Harness, post_id: str) -> list[str]:
    rows = await stack.rows("select kind from post_event where post_id = :id order by id", id=post_id)
    return [row["kind"] for row in rows]


def published_titles(stack: Harness, account: str | None = None) -> Sequence[str]:
    """The judge's word: what was really published, in its order."""
    return [deviation.title for deviation in stack.simulator.deviantart.published(account)]
