"""What the database alone could do: the rows of a finished first sync again, with nothing but asyncpg.

Same server, same tables and constraints, same batches; no Temporal, no HTTP, no parsing, no reading before
writing, no upserts. One statement and one round trip per series; its arrays are made before the clock starts.
"""

import asyncio
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import asyncpg
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql

from bench.cpu import CpuMeter, CpuUse
from bench.stack import BenchStack
from fascicle.storage import tables
from fascicle.storage.database import open_engine, upgrade

CONNECTIONS = (1, 4)
_ROUNDS = 3
_NAME = "raw_limit"


def _columns_of(table: Table, *, given: Sequence[str]) -> dict[str, str]:
    """The columns to fill from arrays, with their types; `given` come from elsewhere."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return {
        column.name: column.type.compile(dialect)
        for column in table.columns
        if column.name not in given and column.identity is None
    }


_CHAPTER = _columns_of(tables.logical_chapter, given=["series_id"])
_SOURCE = _columns_of(tables.chapter_source, given=["source_id", "chapter_id"])
_UPLOAD = _columns_of(tables.chapter_upload, given=["source_id"])


@dataclass(frozen=True)
class Limit:
    rates: dict[int, float]
    """Chapters per second by number of connections, the median of some rounds."""
    cpu: CpuUse
    """Of the last round with the best number of connections."""

    @property
    def best(self) -> int:
        return max(self.rates, key=lambda connections: self.rates[connections])

    @property
    def chapters_per_second(self) -> float:
        return self.rates[self.best]


async def measure_limit(stack: BenchStack) -> Limit:
    batches = await _read_batches(stack)
    chapters = sum(len(batch[2]) for batch in batches)
    url = await _make_database(stack)
    # A hundred thousand values that stay alive: the collector must not visit them in every round.
    gc.collect()
    gc.freeze()
    rates: dict[int, list[float]] = {connections: [] for connections in CONNECTIONS}
    cpu: dict[int, CpuUse] = {}
    for connections in CONNECTIONS * _ROUNDS:
        seconds, cpu[connections] = await _insert_all(stack, url, batches, connections)
        rates[connections].append(chapters / seconds)
    gc.unfreeze()
    limit = Limit({connections: median(measured) for connections, measured in rates.items()}, cpu[1])
    return replace(limit, cpu=cpu[limit.best])


async def _insert_all(
    stack: BenchStack, url: str, batches: Sequence[Sequence[Any]], connections: int
) -> tuple[float, CpuUse]:
    """Seconds to insert everything into empty tables over so many connections."""
    statement = _statement()
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


def _statement() -> str:
    """$1 the series, $2 the source, then the columns of the three tables."""
    chapter, source, upload = ", ".join(_CHAPTER), ", ".join(_SOURCE), ", ".join(_UPLOAD)
    first = 3
    return f"""
with chapters as (
  insert into logical_chapter (series_id, {chapter})
  select $1, * from unnest({_arrays(_CHAPTER, first)}) returning id, chapter_key
), sources as (
  insert into chapter_source (source_id, chapter_id, {source})
  select $2, chapters.id, listed.*
  from unnest({_arrays(_SOURCE, first + len(_CHAPTER))}) as listed ({source})
  join chapters using (chapter_key)
)
insert into chapter_upload (source_id, {upload})
select $2, * from unnest({_arrays(_UPLOAD, first + len(_CHAPTER) + len(_SOURCE))})
"""


def _arrays(columns: dict[str, str], first: int) -> str:
    return ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(columns.values(), first))


async def _read_batches(stack: BenchStack) -> list[list[Any]]:
    """The arguments of the statement for each source, from what the first sync stored."""
    connection = await asyncpg.connect(_plain(stack.database_url))
    try:
        owners = await connection.fetch("select series_id, id from source order by id")
        return [
            [
                series_id,
                source_id,
                *await _columns(connection, "logical_chapter", "series_id", series_id, _CHAPTER),
                *await _columns(connection, "chapter_source", "source_id", source_id, _SOURCE),
                *await _columns(connection, "chapter_upload", "source_id", source_id, _UPLOAD),
            ]
            for series_id, source_id in owners
        ]
    finally:
        await connection.close()


async def _columns(
    connection: Any, table: str, owner: str, owner_id: str, columns: dict[str, str]
) -> list[list[Any]]:
    names = ", ".join(columns)
    rows = await connection.fetch(f"select {names} from {table} where {owner} = $1 order by ctid", owner_id)
    return [[row[name] for row in rows] for name in columns]


async def _make_database(stack: BenchStack) -> str:
    """A database of its own with our schema, and the series and sources that the rows belong to."""
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
