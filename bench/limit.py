"""The limit of the database alone: the rows of a finished first sync inserted again by plain asyncpg.

The server, the tables, the constraints and the batches are the same. There is no Temporal, no HTTP, no
parsing, no reading before writing and no upsert. Each series is one statement and one round trip; its arrays
are made before the clock starts.
"""

import asyncio
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Self

import asyncpg

from bench.cpu import CpuMeter, CpuUse
from bench.stack import BenchStack
from fascicle.storage.database import open_engine, upgrade

CONNECTIONS = (1, 4)
_ROUNDS = 3
_NAME = "raw_limit"


# The columns to fill from arrays, with their types, without identities and owners.
_COLUMNS = """
select attname, format_type(atttypid, atttypmod) from pg_attribute
where attrelid = $1::text::regclass and attnum > 0 and not attisdropped and attidentity = ''
  and attname <> all($2) order by attnum"""


@dataclass(frozen=True)
class _Columns:
    """The columns of the three tables with their types."""

    chapter: dict[str, str]
    source: dict[str, str]
    upload: dict[str, str]

    @classmethod
    async def read(cls, connection: Any) -> Self:
        return cls(
            dict(await connection.fetch(_COLUMNS, "logical_chapter", ["series_id"])),
            dict(await connection.fetch(_COLUMNS, "chapter_source", ["source_id", "chapter_id"])),
            dict(await connection.fetch(_COLUMNS, "chapter_upload", ["source_id"])),
        )


@dataclass(frozen=True)
class Limit:
    rates: dict[int, float]
    """Chapters per second by number of connections, the median of some rounds."""
    cpu: CpuUse
    """The CPU of the last round with the best number of connections."""

    @property
    def best(self) -> int:
        return max(self.rates, key=lambda connections: self.rates[connections])

    @property
    def chapters_per_second(self) -> float:
        return self.rates[self.best]


async def measure_limit(stack: BenchStack) -> Limit:
    columns, batches = await _read_batches(stack)
    chapters = sum(len(batch[2]) for batch in batches)
    url = await _make_database(stack)
    # The garbage collector must not visit these hundred thousand living values in every round.
    gc.collect()
    gc.freeze()
    rates: dict[int, list[float]] = {connections: [] for connections in CONNECTIONS}
    cpu: dict[int, CpuUse] = {}
    for connections in CONNECTIONS * _ROUNDS:
        seconds, cpu[connections] = await _insert_all(stack, url, columns, batches, connections)
        rates[connections].append(chapters / seconds)
    gc.unfreeze()
    limit = Limit({connections: median(measured) for connections, measured in rates.items()}, cpu[1])
    return replace(limit, cpu=cpu[limit.best])


async def _insert_all(
    stack: BenchStack, url: str, columns: _Columns, batches: Sequence[Sequence[Any]], connections: int
) -> tuple[float, CpuUse]:
    """The seconds and CPU to insert everything into empty tables over so many connections."""
    statement = _statement(columns)
    pool = await asyncpg.create_pool(url, min_size=connections, max_size=connections)
    async with pool:
        await pool.execute("truncate logical_chapter, chapter_source, chapter_upload cascade")
        waiting = iter(batches)

        async def insert() -> None:
            async with pool.acquire() as connection:
                insertion = await connection.prepare(statement)
                for batch in waiting:
                    await insertion.fetch(*batch)

        meter = CpuMeter(stack.supervisor.pids)
        started = time.perf_counter()
        await asyncio.gather(*(insert() for _ in range(connections)))
        return time.perf_counter() - started, meter.read()


def _statement(columns: _Columns) -> str:
    """$1 is the series, $2 the source; the columns of the three tables follow."""
    chapter, source, upload = (", ".join(each) for each in (columns.chapter, columns.source, columns.upload))
    first = 3
    second = first + len(columns.chapter)
    third = second + len(columns.source)
    return f"""
with chapters as (
  insert into logical_chapter (series_id, {chapter})
  select $1, * from unnest({_arrays(columns.chapter, first)}) returning id, chapter_key
), sources as (
  insert into chapter_source (source_id, chapter_id, {source})
  select $2, chapters.id, listed.*
  from unnest({_arrays(columns.source, second)}) as listed ({source})
  join chapters using (chapter_key)
)
insert into chapter_upload (source_id, {upload})
select $2, * from unnest({_arrays(columns.upload, third)})
"""


def _arrays(columns: dict[str, str], first: int) -> str:
    return ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(columns.values(), first))


async def _read_batches(stack: BenchStack) -> tuple[_Columns, list[list[Any]]]:
    """The statement's arguments for each source, from the rows that the first sync stored."""
    connection = await asyncpg.connect(_plain(stack.database_url))
    try:
        columns = await _Columns.read(connection)
        owners = await connection.fetch("select series_id, id from source order by id")
        batches = [
            [
                series_id,
                source_id,
                *await _columns(connection, "logical_chapter", "series_id", series_id, columns.chapter),
                *await _columns(connection, "chapter_source", "source_id", source_id, columns.source),
                *await _columns(connection, "chapter_upload", "source_id", source_id, columns.upload),
            ]
            for series_id, source_id in owners
        ]
        return columns, batches
    finally:
        await connection.close()


async def _columns(
    connection: Any, table: str, owner: str, owner_id: str, columns: dict[str, str]
) -> list[list[Any]]:
    names = ", ".join(columns)
    rows = await connection.fetch(f"select {names} from {table} where {owner} = $1 order by ctid", owner_id)
    return [[row[name] for row in rows] for name in columns]


async def _make_database(stack: BenchStack) -> str:
    """A separate database with our schema and with the series and sources of the rows."""
    connection = await asyncpg.connect(_plain(stack.database_url))
    await connection.execute(f"create database {_NAME}")
    url = stack.database_url.replace("/fascicle?", f"/{_NAME}?")
    engine = open_engine(url)
    await upgrade(engine)
    await engine.dispose()
    copy = await asyncpg.connect(_plain(url))
    for table in ("series", "source"):
        rows = await connection.fetch(f"select * from {table}")
        await copy.copy_records_to_table(table, records=rows, columns=list(rows[0].keys()))
    await copy.close()
    await connection.close()
    return _plain(url)


def _plain(url: str) -> str:
    return url.replace("postgresql+asyncpg", "postgresql")
