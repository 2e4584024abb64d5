"""Following feeds: finding the feed, reading it first, and starting or signalling its workflow (I4, I7)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection
from temporalio.client import Client

from fascicle.domain.errors import UsageError
from fascicle.domain.feeds.feed import NOBODY_READS, SubscriptionState
from fascicle.domain.names import source_workflow_id
from fascicle.domain.urls import address_title, parse_http_url
from fascicle.jobs.feeds import enrich_input, enrich_job
from fascicle.services.dependencies import Dependencies
from fascicle.services.feeds.look import Look, feed_books
from fascicle.services.series.onboarding import ensure_workflow
from fascicle.services.waiting import patiently
from fascicle.sites.feeds.client import Found
from fascicle.storage.database import transaction
from fascicle.storage.feeds import enrichment
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import item as items
from fascicle.storage.feeds import subscription as subscriptions
from fascicle.storage.series import source as sources
from fascicle.temporal.workflow_start import signal_if_running, start_if_absent

_ENRICH_AT_ONCE = 20


@dataclass(frozen=True)
class Subscribed:
    source_id: str
    created: bool
    """The feed was not followed by anybody before."""
    subscribed: bool
    """This person did not follow it before."""
    backfilled: int


@dataclass(frozen=True)
class FoundFeed:
    """The feed at an address: followed already, or read just now."""

    source_id: str | None
    found: Found | None


async def find_feed(
    dependencies: Dependencies,
    url: str,
    on_wait: Callable[[str], None] = lambda reason: None,
    *,
    backfill: int = 0,
) -> FoundFeed:
    """The feed at an address, or behind the page there. Changes nothing."""
    address = dependencies.feeds.address_of(feed_address(url))
    known = await _followed(dependencies, address)
    if known is not None and not (backfill and await _is_unread(dependencies, known)):
        return FoundFeed(known, None)
    found = await patiently(lambda: dependencies.feeds.find(address), on_wait)
    return FoundFeed(await _followed(dependencies, found.address), found)


async def subscribe(
    dependencies: Dependencies,
    client: Client,
    url: str,
    user_id: str,
    *,
    backfill: int = 0,
    title: str | None = None,
    folder: str | None = None,
    feed: FoundFeed | None = None,
    on_wait: Callable[[str], None] = lambda reason: None,
) -> Subscribed:
    """Follow the feed at an address, or behind the page there. Its present entries are history.

    The feed's first reading and the subscription are one transaction: an entry a moment later is news.
    """
    feed = feed or await find_feed(dependencies, url, on_wait, backfill=backfill)
    async with transaction(dependencies.engine) as connection:
        source_id, created = await _readied(connection, feed)
        interest = await subscriptions.hold(connection, source_id)
        # Its last follower may have left since it was found.
        created = bool(await feeds.revive(connection, [source_id])) or created
        if not created and not interest.active:
            await feeds.begin_anew(connection, source_id)
        if feed.found is not None:
            await _first_reading(connection, dependencies, source_id, feed.found)
        subscribed = await subscriptions.subscribe(connection, user_id, source_id, title=title, folder=folder)
        given = await subscriptions.backfill(
            connection, user_id, source_id, most=backfill, now=dependencies.clock()
        )
        due = await _due(connection, dependencies, source_id, given)
    await _wake(dependencies, client, source_id, anew=created)
    for row in due:
        await start_if_absent(client, enrich_job(enrich_input(row)))
    return Subscribed(source_id, created, subscribed, len(given))


async def leave(
    dependencies: Dependencies, client: Client, user_id: str, source_id: str, state: SubscriptionState
) -> None:
    """Unsubscribe or pause. A feed without subscribers is removed; one that all have paused is paused too."""
    async with transaction(dependencies.engine) as connection:
        await subscriptions.hold(connection, source_id)
        await subscriptions.set_state(connection, user_id, source_id, state)
        left = await subscriptions.hold(connection, source_id)
        if not left.active and not left.paused:
            await sources.remove(connection, source_id, dependencies.clock())
    if not left.active:
        # Its workflow checks the database for followers and pauses or ends: a new one may come right now.
        await signal_if_running(client, source_workflow_id(source_id), "poll_now")


async def come_back(dependencies: Dependencies, client: Client, user_id: str, source_id: str) -> None:
    """Resume a paused subscription; entries from the time of the pause are not delivered."""
    async with transaction(dependencies.engine) as connection:
        interest = await subscriptions.hold(connection, source_id)
        if not interest.active:
            await feeds.begin_anew(connection, source_id)
        await subscriptions.set_state(connection, user_id, source_id, SubscriptionState.ACTIVE)
    await _wake(dependencies, client, source_id)


async def _wake(dependencies: Dependencies, client: Client, source_id: str, *, anew: bool = False) -> None:
    """Start the feed's workflow if necessary, and end a pause that was due to lack of readers."""
    handle = await ensure_workflow(dependencies, client, source_id, anew=anew)
    async with transaction(dependencies.engine) as connection:
        source = await sources.get(connection, source_id)
    if source is not None and source.paused_reason == NOBODY_READS:
        await handle.signal("resume")


async def _readied(connection: AsyncConnection, feed: FoundFeed) -> tuple[str, bool]:
    """The feed's id, and whether it is new or was removed before."""
    if feed.source_id is not None:
        return feed.source_id, False
    if feed.found is None:
        raise UsageError("unknown_feed", "There is no such feed.")
    parsed, address = feed.found.parsed, feed.found.address
    title = parsed.title or address_title(address)
    return await feeds.add(connection, address, title=title, page=parsed.site_url)


def feed_address(url: str) -> str:
    """The address that a person gave, checked; also in the form `feed:`, which some pages use."""
    text = url.strip()
    if text.startswith("feed:"):
        rest = text.removeprefix("feed:").removeprefix("//")
        text = rest if rest.startswith(("http://", "https://")) else f"https://{rest}"
    elif "://" not in text and "." in text.partition("/")[0]:
        text = f"https://{text}"
    parts = parse_http_url(text)
    return parts._replace(netloc=parts.netloc.lower(), fragment="", path=parts.path or "/").geturl()


async def _followed(dependencies: Dependencies, address: str) -> str | None:
    """The id of the feed at this address if somebody follows it now."""
    async with transaction(dependencies.engine) as connection:
        source_id = await feeds.find(connection, [address])
        source = await sources.get(connection, source_id) if source_id else None
    return source.id if source is not None and source.removed_at is None else None


async def _is_unread(dependencies: Dependencies, source_id: str) -> bool:
    """True if it was not read yet, as after an import, or nobody reads it: it has few entries to deliver."""
    async with transaction(dependencies.engine) as connection:
        feed = await feeds.get(connection, source_id)
    return feed is not None and (feed.first or not feed.wanted)


async def _due(
    connection: AsyncConnection, dependencies: Dependencies, source_id: str, given: list[int]
) -> list[dict[str, Any]]:
    """The delivered items to enrich at once; `reconcile` starts the rest."""
    if not given or not dependencies.settings.enrich:
        return []
    now = dependencies.clock()
    await items.ask_for_enrichment(connection, given, now)
    return await enrichment.due(connection, source_id=source_id, before=now, limit=_ENRICH_AT_ONCE)


async def _first_reading(
    connection: AsyncConnection, dependencies: Dependencies, source_id: str, found: Found
) -> None:
    """Store the found entries as the feed's history, unless another process has read the feed by now."""
    source, feed = await sources.get(connection, source_id), await feeds.get(connection, source_id)
    if source is not None and feed is not None and feed.first:
        look = Look(source, feed, dependencies.clock())
        await feed_books(dependencies.settings).keep(connection, look, found.fetched, found.parsed)
