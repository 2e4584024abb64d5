"""The time of a source's next poll: from its cadence, its past releases, and whether a sweep watches it."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.series.breaker import BreakerPolicy
from fascicle.domain.series.cadence import Cadence, Plan, plan_next_check
from fascicle.domain.series.chapter import ListedChapter
from fascicle.domain.series.sweep import FAILURES_UNTIL_LOST
from fascicle.settings.settings import Settings
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds.feed import Feed
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series import sweep as sweeps
from fascicle.storage.series.source import Source

NET_REASON = "the sweep watches; a look all the same"
# A source about which the sweep missed something keeps its own interval for this long.
_DISTRUST = timedelta(days=30)
# Enough to see a rhythm; older releases say little about the next one.
_RELEASES = 40

# Beyond the delay before it, how long telling followers may take before reconciliation starts it again.
_TELLING_TAKES = timedelta(minutes=2)


@dataclass(frozen=True)
class PollPolicy:
    intervals: Mapping[Cadence, timedelta]
    breaker: BreakerPolicy
    complete_every: timedelta
    children_per_poll: int
    told_within: timedelta = timedelta(0)
    """A chapter that is owed for longer than this has probably lost the workflow that announces it."""
    sweep_interval: timedelta = timedelta(0)
    sweep_overlap: timedelta = timedelta(0)
    sweep_is_fresh_for: timedelta = timedelta(0)
    sweep_net: timedelta = timedelta(0)
    feed_shortest: timedelta = timedelta(0)
    feed_longest: timedelta = timedelta(days=1)
    feed_moved_after: int = 3
    """Sightings of a permanent redirect until it is believed."""


async def next_check(
    connection: AsyncConnection,
    source: Source,
    policy: PollPolicy,
    now: datetime,
    *,
    last_new_at: datetime | None = None,
    trust_sweep: bool = True,
    feed: Feed | None = None,
) -> Plan:
    """`last_new_at`: news found by this poll; `trust_sweep` False keeps the source's own interval.

    `feed`: the source's present feed row, if the caller has it; otherwise it is loaded.
    """
    spread = random.uniform(-1, 1)  # noqa: S311
    own = await _own_time(connection, source, policy, now, last_new_at, spread)
    if source.is_feed:
        return _with_patience(feed or await feeds.get(connection, source.id), source, policy, now, own)
    # A source that is polled more often than the sweep keeps its own interval.
    is_faster = own.next_check_at - now <= policy.sweep_interval
    if is_faster or not trust_sweep or source.pinned_cadence:
        return own
    if source.sweep_missed_at is not None and now - source.sweep_missed_at < _DISTRUST:
        return own
    swept_at = await sweeps.last_success_at(connection, source.site)
    if swept_at is None or now - swept_at >= policy.sweep_is_fresh_for:
        return own
    return _net(source, policy, now, own, spread)


async def _own_time(
    connection: AsyncConnection,
    source: Source,
    policy: PollPolicy,
    now: datetime,
    last_new_at: datetime | None,
    spread: float,
) -> Plan:
    if source.is_feed:
        stored = await feeds.release_times(connection, source.id, limit=_RELEASES)
    else:
        stored = await chapters.release_times(connection, source.series_id, limit=_RELEASES)
    return plan_next_check(
        now=now,
        releases=[*stored, last_new_at] if last_new_at else stored,
        last_new_at=max((t for t in (source.last_new_at, last_new_at) if t), default=None),
        intervals=policy.intervals,
        pinned=source.pinned_cadence,
        spread=spread,
    )


def _with_patience(feed: Feed | None, source: Source, policy: PollPolicy, now: datetime, own: Plan) -> Plan:
    """A feed is not polled sooner than its site asks for, up to a limit (I1)."""
    asked = timedelta(seconds=feed.patience_seconds or 0) if feed else timedelta(0)
    delay = max(own.next_check_at - now, policy.feed_shortest)
    longest = max(
        policy.feed_longest, policy.intervals[own.cadence] if source.pinned_cadence else timedelta(0)
    )
    if asked > delay:
        delay, reason = asked, f"{own.reason}, but the site asks for {_rounded(min(asked, longest))}"
    else:
        reason = own.reason
    return Plan(cadence=own.cadence, next_check_at=now + min(delay, longest), reason=reason)


def _rounded(length: timedelta) -> str:
    minutes = length / timedelta(minutes=1)
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _net(source: Source, policy: PollPolicy, now: datetime, own: Plan, spread: float) -> Plan:
    """The rare poll of a swept source: news do not delay it, or a busy series would never be read in full."""
    some = 1 + 0.1 * spread
    listing = (source.complete_listing_at or now) + max(policy.sweep_net, policy.complete_every) * some
    net = min(now + policy.sweep_net * some, listing)
    if net <= own.next_check_at:
        return own
    return Plan(cadence=own.cadence, next_check_at=net, reason=NET_REASON)


def is_missed_by_sweep(
    source: Source, policy: PollPolicy, now: datetime, news: Sequence[ListedChapter]
) -> bool:
    """True if a rare poll found a chapter that the sweep had enough time to report."""
    if source.next_check_reason != NET_REASON:
        return False
    lately = now - policy.sweep_is_fresh_for
    return any(chapter.published_at is not None and chapter.published_at < lately for chapter in news)


def poll_policy(settings: Settings) -> PollPolicy:
    sweep_interval = timedelta(seconds=settings.sweep_seconds)
    return PollPolicy(
        intervals=settings.intervals,
        breaker=settings.breaker,
        complete_every=timedelta(hours=settings.complete_listing_hours),
        children_per_poll=settings.children_per_poll,
        told_within=timedelta(seconds=settings.notify_delay_seconds) + _TELLING_TAKES,
        sweep_interval=sweep_interval,
        sweep_overlap=timedelta(seconds=settings.sweep_overlap_seconds),
        sweep_is_fresh_for=(FAILURES_UNTIL_LOST + 4) * sweep_interval + timedelta(minutes=1),
        sweep_net=timedelta(hours=settings.sweep_net_hours),
        feed_shortest=timedelta(seconds=settings.feed_min_seconds),
        feed_longest=timedelta(seconds=settings.feed_max_seconds),
        feed_moved_after=settings.feed_moved_after,
    )
