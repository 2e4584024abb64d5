"""Groups uploads into chapters: known uploads keep their keys, new ones get one (C5)."""

from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.series.chapter import ListedChapter, Upload, fold_uploads
from fascicle.domain.series.chapter_key import assign_keys, number_of
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series.chapter import KnownUpload
from fascicle.storage.series.source import Source


def is_renumbered(upload: Upload, known: Mapping[str, KnownUpload]) -> bool:
    stored = known.get(upload.upload_id)
    return stored is not None and stored.raw_number != upload.number


async def keyed_chapters(
    connection: AsyncConnection,
    source: Source,
    uploads: Sequence[Upload],
    known: Mapping[str, KnownUpload],
    found: Mapping[str, ListedChapter] | None = None,
) -> list[ListedChapter]:
    """The uploads as chapters. Known uploads keep their keys; new and renumbered ones get one."""
    keyless = [u for u in uploads if u.upload_id not in known or is_renumbered(u, known)]
    numbers = {number for u in keyless if (number := number_of(u.number)) is not None}
    taken = await chapters.keys_with_numbers(connection, source.id, numbers)
    taken |= {key: chapter.best.number for key, chapter in (found or {}).items()}
    keys = {upload_id: stored.key for upload_id, stored in known.items()}
    keys |= assign_keys(keyless, taken, per_volume=source.numbering_restarts)
    return fold_uploads(uploads, keys, source.languages)
