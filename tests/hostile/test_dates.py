"""Dates that no calendar of ours holds: at every door they count as none, and what was stored is healed."""

import importlib
from collections.abc import AsyncIterator, Callable
from datetime import UTC, date, datetime
from typing import Any

import httpx
import orjson
import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import UsageError
from fascicle.domain.feeds.feed import Entry
from fascicle.domain.feeds.item_page import PageMetadata
from fascicle.domain.fics.fic import Fic
from fascicle.domain.instants import day, instant, mail_date
from fascicle.domain.publishing.publication import GalleryEntry
from fascicle.domain.series.chapter import ListedChapter, SeriesInfo, Upload
from fascicle.domain.series.sweep import SweepCursor
from fascicle.domain.summaries.article import Article
from fascicle.domain.times import parse_time
from fascicle.net.answers import Answer, retry_after
from fascicle.sites import fields
from fascicle.sites.ao3 import tree
from fascicle.sites.declarative import rows
from fascicle.sites.deviantart import oauth as deviantart_oauth
from fascicle.sites.deviantart import site as deviantart
from fascicle.sites.feeds.caching import patience_seconds
from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.pages import values
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series import source as sources

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
ISO = [
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "0001-01-01",
    "1899-12-31T23:59:59Z",
    "2201-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:00:00-05:00",
]
UNIX = ["1e300", "253402300799", "-62135596800", "99999999999999999999999", "nan", "inf", "9" * 5000]
MAIL = [
    "Mon, 01 Jan 0150 00:00:00 GMT",
    "Fri, 31 Dec 9999 23:00:00 -0500",
    "Mon, 16 Nov 99999999999999999999 00:00:00 GMT",
    "Mon, 16 Nov 2026 00:00:00 +999999999999",
    ", ,",
    "9" * 5000,
]
migration = importlib.import_module("fascicle.storage.migrations.versions.0010_believable_dates")


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


@pytest.mark.parametrize("written", ISO)
@pytest.mark.parametrize(
    "door",
    [
        fields.time,
        values.time,
        lambda written: instant(datetime.fromisoformat(written)),
        lambda written: rows._time(written, ["iso", "%Y-%m-%dT%H:%M:%S%z"]),
        lambda written: Upload(upload_id="u", url="u", published_at=written).published_at,
        lambda written: Entry(key="k", published_at=written, updated_at=written).published_at,
        lambda written: Entry(key="k", published_at=written, updated_at=written).updated_at,
        lambda written: PageMetadata(url="u", published_at=written).published_at,
        lambda written: GalleryEntry(deviation_id="d", title="t", published_at=written).published_at,
        lambda written: SweepCursor(at=written).at,
        lambda written: day(date.fromisoformat(written[:10])),
        lambda written: tree.day(written[:10]),
    ],
)
def test_an_iso_date_out_of_bounds_is_none(door: Callable[[str], object], written: str) -> None:
    assert door(written) is None


def test_every_model_of_a_strangers_date_bounds_it() -> None:
    names = {"published_at", "updated_at", "published_on", "updated_on"}
    for model in (Upload, Entry, PageMetadata, GalleryEntry, Article, Fic):
        dated = names & model.model_fields.keys()
        assert dated
        for name in dated:
            assert model.model_fields[name].metadata, f"{model.__name__}.{name} takes any date"


@pytest.mark.parametrize("written", UNIX)
@pytest.mark.parametrize(
    "door",
    [
        fields.unix_time,
        lambda written: fields.unix_time(written, per_second=1000) if len(written) > 20 else None,
        lambda written: rows._time(written, ["unix"]),
        deviantart._moment,
    ],
)
def test_a_unix_time_out_of_bounds_is_none(door: Callable[[str], object], written: str) -> None:
    assert door(written) is None


@pytest.mark.parametrize("written", MAIL)
def test_a_mail_date_out_of_bounds_is_none(written: str) -> None:
    assert mail_date(written) is None
    assert patience_seconds({"Expires": written}, None, now=NOW) is None


def test_a_date_within_bounds_is_aware_utc() -> None:
    assert instant(datetime.fromisoformat("2026-11-16T14:00:00+02:00")) == NOW
    assert instant(datetime(2026, 11, 16, 12)) == NOW  # noqa: DTZ001 - without a zone, as sites write it
    assert fields.time("1900-01-01T00:00:00") == datetime(1900, 1, 1, tzinfo=UTC)
    found = Upload(upload_id="u", url="u", published_at=datetime.fromisoformat("2026-11-16T14:00:00+02:00"))
    assert found.published_at is not None
    assert found.published_at.tzinfo is UTC


@pytest.mark.parametrize("written", ISO)
def test_a_feed_keeps_its_entry_and_loses_the_date(written: str) -> None:
    entry = {"id": "1", "title": "One", "url": "https://a.example/1"}
    dates = {"date_published": written, "date_modified": written}
    json_feed = {"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": [{**entry, **dates}]}
    atom = f"""<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>1</id><title>One</title>
        <published>{written}</published><updated>{written}</updated></entry></feed>"""
    for document in (orjson.dumps(json_feed), atom.encode()):
        [read] = parse_feed(document, url="https://a.example/feed", now=NOW).entries
        assert (read.title, read.published_at, read.updated_at) == ("One", None, None)


@pytest.mark.parametrize("written", ISO[:2] + ISO[4:])
def test_a_person_is_told_that_a_time_is_impossible(written: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_time(written, zone="UTC", now=NOW)
    assert refused.value.code == "wrong_time"


@pytest.mark.parametrize("value", [*MAIL[:-1], "-5", "", "1e9", "９９"])
def test_a_retry_after_that_says_nothing_counts_as_absent(value: str) -> None:
    assert retry_after({"retry-after": value}) is None


@pytest.mark.parametrize("value", ["9" * 5000, "9" * 400, "999999999999"])
def test_a_retry_after_of_ages_is_a_day(value: str) -> None:
    assert retry_after({"retry-after": value}) == 86_400


@pytest.mark.parametrize("lasts", [1e300, 10**30, -5])
def test_a_token_that_lives_for_ages_is_kept_for_a_year(lasts: float) -> None:
    body = orjson.dumps({"access_token": "a", "refresh_token": "r", "expires_in": float(lasts)})
    pair = deviantart_oauth._pair(Answer(200, "https://d.example/token", httpx.Headers(), body))
    assert 0 <= pair.access_seconds <= 365 * 86_400


async def store(engine: AsyncEngine, *listed: ListedChapter) -> tuple[str, str]:
    info = SeriesInfo(site_key="a", title="A", url="https://x")
    async with transaction(engine) as connection:
        source_id, _ = await sources.add(
            connection, site="mangadex", info=info, series_id=None, languages=["en"]
        )
        source = await sources.get(connection, source_id)
        assert source is not None
        await chapters.fold_in(
            connection, source_id=source_id, series_id=source.series_id, chapters=listed, news=set(), now=NOW
        )
    return source_id, source.series_id


def listed(key: str, published_at: Any) -> ListedChapter:
    uploads = [Upload(upload_id=f"u-{key}", number=key, url="https://x/1", published_at=published_at)]
    return ListedChapter(key=key, uploads=uploads)


async def dates_of(engine: AsyncEngine, series_id: str) -> list[Any]:
    async with transaction(engine) as connection:
        shown = [row["published_at"] for row in await chapters.of_series(connection, series_id)]
        return shown + await chapters.release_times(connection, series_id, limit=10)


async def test_a_list_with_such_dates_is_stored_whole(engine: AsyncEngine) -> None:
    _, series_id = await store(engine, *(listed(str(n), written) for n, written in enumerate(ISO, 1)))
    assert await dates_of(engine, series_id) == [None] * len(ISO) + [NOW]


async def test_what_an_older_release_stored_is_healed(engine: AsyncEngine) -> None:
    _, series_id = await store(engine, listed("1", NOW), listed("2", NOW), listed("3", NOW))
    async with transaction(engine) as connection:
        for key, stored in (("1", "-infinity"), ("2", "9999-12-31T23:59:59Z")):
            for table, name in (("logical_chapter", "chapter_key"), ("chapter_upload", "'u-' || upload_id")):
                statement = (
                    f"update {table} set published_at = '{stored}' where {name} in ('{key}', 'u-u-{key}')"
                )
                await connection.execute(text(statement.replace(":", r"\:")))

    def migrate(connection: Connection) -> None:
        with Operations.context(MigrationContext.configure(connection)):
            migration.upgrade()

    async with engine.begin() as connection:
        await connection.run_sync(migrate)
    assert sorted(await dates_of(engine, series_id), key=str) == sorted([None, None, NOW, NOW], key=str)
    async with transaction(engine) as connection:
        kept = await connection.scalars(
            text("select published_at from chapter_upload where published_at is not null")
        )
        assert list(kept) == [NOW]
