"""Keys of one source over several polls, as the database remembers them (C5)."""

from datetime import UTC, datetime

from fascicle.domain.series.chapter import SeriesInfo, Upload
from fascicle.services.series.keyed_chapters import keyed_chapters
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series import source as sources

NOW = datetime(2026, 11, 16, tzinfo=UTC)
# One list a poll; every number competes with one of another poll.
POLLS = [["19a", "8", "0.10", "5.extra"], ["19.1", "1-8", "0.1", "5.99"], ["2-8", "019.A", "8v2"]]


async def test_c5_numbers_of_different_polls_never_share_a_key(database_url: str) -> None:
    engine = open_engine(database_url)
    keys: dict[str, str] = {}
    async with transaction(engine) as connection:
        info = SeriesInfo(site_key="a", title="A", url="https://x")
        source_id, _ = await sources.add(
            connection, site="mangadex", info=info, series_id=None, languages=["en"]
        )
        source = await sources.get(connection, source_id)
        assert source is not None
        for poll in POLLS:
            uploads = [Upload(upload_id=raw, number=raw, url="https://x") for raw in poll]
            known = await chapters.known_uploads(connection, source_id, uploads)
            listed = await keyed_chapters(connection, source, uploads, known)
            keys |= {upload.upload_id: chapter.key for chapter in listed for upload in chapter.uploads}
            await chapters.fold_in(
                connection, source_id=source_id, series_id=source.series_id, chapters=listed, news=(), now=NOW
            )
    await engine.dispose()
    assert keys == {
        "19a": "19.1",
        "8": "8",
        "0.10": "0.1",
        "5.extra": "5.99",
        "19.1": "19.1:19.1",
        "1-8": "1-8",
        "0.1": "0.1:0.1",
        "5.99": "5.99:5.99",
        "2-8": "2-8",
        "019.A": "19.1",
        "8v2": "8",
    }
