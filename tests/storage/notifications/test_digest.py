"""When a digest is due, reckoned by the database in the reader's own time zone (C8)."""

from collections.abc import AsyncIterator
from datetime import datetime

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fascicle.domain.series.chapter import ListedChapter, SeriesInfo, Upload
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.series import library
from fascicle.storage.series import source as sources
from fascicle.storage.series.chapter import fold_in


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


async def tell(connection: AsyncConnection, now: datetime, **wishes: object) -> datetime | None:
    """A new chapter at `now` for a follower with these wishes: when their digest is due."""
    info = SeriesInfo(site_key="k", title="Lanterns", url="https://x.test/k")
    source_id, _ = await sources.add(connection, site="x", info=info, series_id=None, languages=[])
    series_id = await connection.scalar(text("select series_id from source"))
    user_id, _ = await library.add_user(connection, "ann")
    await library.follow(connection, user_id, series_id)
    await library.set_wishes(connection, user_id, wishes)
    upload = Upload(upload_id="u", number="1", url="https://x.test/1")
    [stored] = await fold_in(
        connection,
        source_id=source_id,
        series_id=series_id,
        chapters=[ListedChapter(key="1", uploads=[upload])],
        news={"1"},
        now=now,
    )
    await notifications.fan_out(connection, stored.chapter_id, after="", limit=10, cap=100, now=now)
    due: datetime | None = await connection.scalar(text("select digest_at from notification"))
    return due


@pytest.mark.parametrize(
    ("now", "wishes", "due"),
    [
        ("2026-11-16T08:59:59Z", {"mode": "daily"}, "2026-11-16T09:00:00Z"),
        ("2026-11-16T09:00:00Z", {"mode": "daily"}, "2026-11-17T09:00:00Z"),
        ("2026-11-16T08:10:00Z", {"mode": "hourly"}, "2026-11-16T09:00:00Z"),
        ("2026-11-16T08:10:00Z", {"mode": "immediate"}, None),
        # Berlin: nine o'clock is 08:00 UTC in winter, 07:00 in summer, also across the change of clocks.
        ("2026-11-16T07:30:00Z", {"mode": "daily", "time_zone": "Europe/Berlin"}, "2026-11-16T08:00:00Z"),
        ("2026-03-28T12:00:00Z", {"mode": "daily", "time_zone": "Europe/Berlin"}, "2026-03-29T07:00:00Z"),
        ("2026-10-24T12:00:00Z", {"mode": "daily", "time_zone": "Europe/Berlin"}, "2026-10-25T08:00:00Z"),
        # An hour that the change of clocks leaves out comes after it, once.
        (
            "2026-03-29T00:30:00Z",
            {"mode": "daily", "time_zone": "Europe/Berlin", "digest_hour": 2},
            "2026-03-29T01:00:00Z",
        ),
        (
            "2026-11-16T20:00:00Z",
            {"mode": "daily", "time_zone": "Pacific/Auckland", "digest_hour": 0},
            "2026-11-17T11:00:00Z",
        ),
    ],
)
async def test_c8_when_a_digest_is_due(
    engine: AsyncEngine, now: str, wishes: dict[str, object], due: str | None
) -> None:
    async with transaction(engine) as connection:
        found = await tell(connection, datetime.fromisoformat(now), **wishes)
    assert found == (datetime.fromisoformat(due) if due else None)
