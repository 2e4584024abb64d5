"""Reads the database without SQLAlchemy, for short commands that only list.

It has the parts of SQLAlchemy's engine, connection and result that listings use. Its transactions are
read-only: PostgreSQL itself refuses writes.
"""

import json
import re
from collections import namedtuple
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import asyncpg

from fascicle.storage.database_url import DatabaseUrl
from fascicle.storage.sql import Statement

# SQLAlchemy's own rule for parameters: `:name`, but not `::type`.
_PARAMETER = re.compile(r"(?<![:\w\\]):(\w+)(?!:)")
_CONNECT_WITHIN, _ANSWER_WITHIN = 10.0, 60.0
# The query options that this engine supports; a URL with any other needs SQLAlchemy.
_KNOWN = {"host", "port"}


def can_read_plainly(url: DatabaseUrl) -> bool:
    return url.query.keys() <= _KNOWN


class PlainEngine:
    """One connection, opened at first use and again after it was lost."""

    def __init__(self, url: DatabaseUrl) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None

    @asynccontextmanager
    async def begin(self) -> AsyncIterator["PlainConnection"]:
        if self._connection is None or self._connection.is_closed():
            self._connection = await _connect(self._url)
        async with self._connection.transaction(readonly=True):
            yield PlainConnection(self._connection)

    connect = begin

    async def dispose(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None


async def _connect(url: DatabaseUrl) -> asyncpg.Connection:
    port = url.query.get("port") or url.port
    return await asyncpg.connect(
        host=url.query.get("host") or url.host,
        port=int(port) if port else None,
        user=url.user,
        password=url.password,
        database=url.database,
        timeout=_CONNECT_WITHIN,
        command_timeout=_ANSWER_WITHIN,
        server_settings={"application_name": "fascicle", "timezone": "UTC"},
    )


class PlainConnection:
    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> "PlainRows":
        sql, values = _numbered(statement.sql, parameters or {})
        prepared = await self._connection.prepare(sql)
        columns = prepared.get_attributes()
        decoders = {
            place: json.loads for place, column in enumerate(columns) if column.type.name in ("json", "jsonb")
        }
        names = [column.name for column in columns]
        row = _row_of(tuple(names))
        found = [row(*_decoded(record, decoders)) for record in await prepared.fetch(*values)]
        return PlainRows(names, found)

    async def scalar(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Any:
        return (await self.execute(statement, parameters)).scalar()

    async def scalars(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> "PlainRows":
        return (await self.execute(statement, parameters)).scalars()


def _numbered(sql: str, parameters: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Replaces named parameters by PostgreSQL's numbered ones."""
    names = list(dict.fromkeys(_PARAMETER.findall(sql)))
    places = {name: f"${number}" for number, name in enumerate(names, 1)}
    return _PARAMETER.sub(lambda match: places[match[1]], sql), [parameters[name] for name in names]


@lru_cache
def _row_of(names: tuple[str, ...]) -> Any:
    return namedtuple("Row", names, rename=True)


def _decoded(record: asyncpg.Record, decoders: Mapping[int, Any]) -> tuple[Any, ...]:
    if not decoders:
        return tuple(record)
    return tuple(
        decoders[place](value) if place in decoders and value is not None else value
        for place, value in enumerate(record)
    )


class PlainRows:
    """All rows of a result: named tuples, mappings, or single values."""

    def __init__(self, columns: list[str], rows: Iterable[Any]) -> None:
        self._columns = columns
        self._rows = list(rows)

    def mappings(self) -> "PlainRows":
        return PlainRows(self._columns, (dict(zip(self._columns, row, strict=True)) for row in self._rows))

    def scalars(self) -> "PlainRows":
        return PlainRows(self._columns, (row[0] for row in self._rows))

    def scalar(self) -> Any:
        return self._rows[0][0] if self._rows else None

    def scalar_one(self) -> Any:
        return self.one()[0]

    def first(self) -> Any:
        return self._rows[0] if self._rows else None

    def one(self) -> Any:
        (row,) = self._rows
        return row

    def all(self) -> list[Any]:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)
