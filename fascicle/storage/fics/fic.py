"""Data read about fics: one row per work or series, whichever page it came from (F7, F9)."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.fics.fic import Blurb, Fic, FicKind, FicRef, SeriesPage
from fascicle.storage.sql import text

# Every work has these: an empty list means that the page did not show them.
_NEVER_EMPTY = ("authors", "fandoms", "warnings")
# Every readable page shows these as they are now, so an empty value replaces the old one.
_ALWAYS_TOLD = (
    *("author_urls", "relationships", "characters", "tags", "categories", "series"),
    "restricted",
)
_COLUMNS = tuple(name for name in Fic.model_fields if name not in ("site", "id", "series"))


def _told_or_kept(name: str) -> str:
    told, there = f"excluded.{name}", f"fic.{name}"
    if name in _NEVER_EMPTY:
        return f"case when cardinality({told}) > 0 then {told} else {there} end"
    if name in _ALWAYS_TOLD:
        return told
    if name == "chapters_total":  # `15/?`: the page shows chapters, but the total is unknown now
        return f"case when excluded.chapters is null then {there} else {told} end"
    return f"coalesce({told}, {there})"


def _upsert(columns: Iterable[str], kept: Mapping[str, str]) -> str:
    changes = ", ".join(f"{name} = {value}" for name, value in kept.items())
    return f"""insert into fic ({", ".join(columns)}) values ({", ".join(f":{name}" for name in columns)})
        on conflict (key) do update set {changes}"""


_KEEP_WORK = text(
    _upsert(
        ("key", "site", "kind", "site_id", "series", "read_at", *_COLUMNS),
        {name: _told_or_kept(name) for name in (*_COLUMNS, "series", "read_at")},
    ),
    jsonb=["series"],
)
_SERIES_COLUMNS = (
    *("site", "kind", "site_id", "url", "title", "authors", "summary", "words", "works_total"),
    *("hidden_works", "complete", "read_at"),
)
_KEEP_SERIES = text(
    _upsert(("key", *_SERIES_COLUMNS), {name: f"excluded.{name}" for name in _SERIES_COLUMNS})
)
_INSERT_LISTED = text("""
insert into fic_series_work (series_key, position, part, work_key, error)
values (:series_key, :position, :part, :work_key, :error)
""")


async def keep_works(connection: AsyncConnection, works: Iterable[Fic], now: datetime) -> None:
    """Insert or update. A value that this page does not show keeps the one from another page."""
    rows = {row["key"]: row for row in (_row(work, now) for work in works)}
    if not rows:
        return
    # Sorted, so that two jobs with the same works do not deadlock.
    await connection.execute(_KEEP_WORK, [rows[key] for key in sorted(rows)])


def _row(work: Fic, now: datetime) -> dict[str, Any]:
    ref = FicRef(site=work.site, kind=FicKind.WORK, id=work.id, url=work.url)
    return {
        "key": ref.key,
        "site": work.site,
        "kind": FicKind.WORK,
        "site_id": work.id,
        "series": [part.model_dump() for part in work.series],
        "read_at": now,
        **{name: getattr(work, name) for name in _COLUMNS},
    }


async def keep_series(
    connection: AsyncConnection, ref: FicRef, pages: list[SeriesPage], hidden: int, now: datetime
) -> None:
    """Store a series and its list of works, replacing the old list."""
    blurbs = [blurb for page in pages for blurb in page.works]
    await keep_works(connection, [blurb.fic for blurb in blurbs if blurb.fic is not None], now)
    await _keep_series_row(connection, ref, pages[0], hidden, now)
    await connection.execute(text("delete from fic_series_work where series_key = :key"), {"key": ref.key})
    if blurbs:
        keys = await _known(connection, [_work_key(ref, blurb) for blurb in blurbs])
        rows = [
            {
                "series_key": ref.key,
                "position": position,
                "part": blurb.part,
                # Also for a work that cannot be read now: its data from an earlier reading stays.
                "work_key": key if (key := _work_key(ref, blurb)) in keys else None,
                "error": blurb.error,
            }
            for position, blurb in enumerate(blurbs, 1)
        ]
        await connection.execute(_INSERT_LISTED, rows)


def _work_key(series: FicRef, blurb: Blurb) -> str:
    number = blurb.work_id or "" if blurb.fic is None else blurb.fic.id
    return FicRef(site=series.site, kind=FicKind.WORK, id=number, url="").key


async def _known(connection: AsyncConnection, keys: list[str]) -> set[str]:
    found = await connection.scalars(
        text("select key from fic where key = any(cast(:keys as text[]))"), {"keys": keys}
    )
    return set(found)


async def _keep_series_row(
    connection: AsyncConnection, ref: FicRef, page: SeriesPage, hidden: int, now: datetime
) -> None:
    values = {
        "key": ref.key,
        "site": ref.site,
        "kind": FicKind.SERIES,
        "site_id": ref.id,
        "url": ref.url,
        "title": page.title,
        "authors": page.authors,
        "summary": page.summary,
        "words": page.words,
        "works_total": page.works_total,
        "hidden_works": hidden,
        "complete": page.complete,
        "read_at": now,
    }
    await connection.execute(_KEEP_SERIES, values)


async def find(connection: AsyncConnection, key: str) -> dict[str, Any] | None:
    rows = await connection.execute(text("select * from fic where key = :key"), {"key": key})
    row = rows.mappings().first()
    return None if row is None else dict(row)


async def work(connection: AsyncConnection, key: str) -> Fic | None:
    row = await find(connection, key)
    return None if row is None or row["kind"] != FicKind.WORK else _work(row)


async def works_of_series(connection: AsyncConnection, series_key: str) -> list[Blurb]:
    """The list of a series as it was last read."""
    listed = await connection.execute(
        text(
            """select part, work_key, error from fic_series_work where series_key = :key order by position"""
        ),
        {"key": series_key},
    )
    entries = list(listed)
    rows = await connection.execute(
        text("select * from fic where key = any(cast(:keys as text[]))"),
        {"keys": [entry.work_key for entry in entries if entry.work_key is not None]},
    )
    known = {row["key"]: _work(dict(row)) for row in rows.mappings()}
    return [Blurb(part=e.part, fic=known.get(e.work_key), error=e.error) for e in entries]


def _work(row: Mapping[str, Any]) -> Fic:
    return Fic(site=row["site"], id=row["site_id"], series=row["series"], **{n: row[n] for n in _COLUMNS})


async def override_of(connection: AsyncConnection, key: str) -> str | None:
    """The moderator who accepted this fic against the ship rules; None if nobody did."""
    found = await connection.scalar(text("select moderator from fic_override where key = :key"), {"key": key})
    return None if found is None else str(found)


async def remember_override(
    connection: AsyncConnection, key: str, moderator: str, reason: str | None
) -> None:
    await connection.execute(
        text("""insert into fic_override (key, moderator, reason) values (:key, :moderator, :reason)
                on conflict (key) do update set moderator = excluded.moderator, reason = excluded.reason"""),
        {"key": key, "moderator": moderator, "reason": reason},
    )
