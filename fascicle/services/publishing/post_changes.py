"""Changing a post for a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.times import future_time
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post as posts

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection
    from temporalio.client import Client


async def change_post(
    dependencies: Dependencies,
    client: Client,
    post: str,
    change: Callable[[AsyncConnection], Awaitable[None]],
) -> None:
    """Change the row first; if this process dies before it signals the workflow, `reconcile` does so."""
    from fascicle.jobs.publishing import post_job
    from fascicle.temporal.workflow_start import start_job

    async with transaction(dependencies.engine) as connection:
        await change(connection)
    found = await found_post(dependencies, post)
    await start_job(client, post_job(post, title=found["title"], account_id=found["account_id"]))


async def future_of(dependencies: Dependencies, account_id: str, text: str) -> datetime:
    check_is_text(text)
    now = datetime.now(UTC)
    async with transaction(dependencies.engine) as connection:
        zone = await posts.zone_of_account(connection, account_id)
    return future_time(text, zone=zone, now=now)


async def found_post(dependencies: Dependencies, post: str) -> dict[str, Any]:
    check_is_text(post)
    async with transaction(dependencies.engine) as connection:
        found = await posts.show(connection, post)
    if found is None:
        raise UsageError("unknown_post", f"There is no post {post!r}. See `fascicle post list`.")
    return found
