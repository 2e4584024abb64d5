"""The demo's feed readers: a blog, a podcast and a YouTube channel for two inboxes."""

from sqlalchemy import text
from temporalio.client import Client

from fascicle.domain.names import FEED_SITE
from fascicle.services.dependencies import Dependencies
from fascicle.services.feeds.following import subscribe
from fascicle.storage.database import transaction
from fascicle.storage.series import library
from simulator.feeds.demo import BLOG, FEEDS, PODCAST
from starter.stack.demo_fics import READERS


async def show_feeds(dependencies: Dependencies, client: Client, simulator_url: str) -> None:
    """Two readers follow the blog: one feed, fetched once, for two inboxes. Safe to repeat."""
    await _follow_the_port(dependencies, simulator_url)
    mara, jo = READERS
    blog = f"{simulator_url}/feeds/{BLOG}/page"
    for name, url, backfill in (
        (mara, blog, 2),
        (jo, blog, 0),
        (mara, f"{simulator_url}/feeds/{PODCAST}", 1),
        (jo, f"{simulator_url}/youtube/@{FEEDS[-1].handle}", 1),
    ):
        async with transaction(dependencies.engine) as connection:
            user_id, _ = await library.add_user(connection, name)
        await subscribe(dependencies, client, url, user_id, backfill=backfill)


async def _follow_the_port(dependencies: Dependencies, simulator_url: str) -> None:
    """The simulator's port may have changed: move the feeds to it, so that they are not added twice."""
    moved = "regexp_replace({}, '^https?://[^/]+', :base)"
    async with transaction(dependencies.engine) as connection:
        await connection.execute(
            text(f"update source set site_key = {moved.format('site_key')} where site = :site"),  # noqa: S608
            {"base": simulator_url, "site": FEED_SITE},
        )
        await connection.execute(
            text(f"update feed set url = {moved.format('url')}"),  # noqa: S608
            {"base": simulator_url},
        )
