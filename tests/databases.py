"""Databases for tests: made once, wiped between tests. Making one takes ten times as long as wiping it."""

import asyncpg

from fascicle.domain.names import new_id

# What a schema is made of, with its comments: by one the code remembers that clear addresses may be left.
# A test that changed any of it leaves a database that is thrown away.
_FINGERPRINT = """
select (select count(*) from pg_class where relnamespace = 'public'::regnamespace),
  (select count(*) from pg_constraint where connamespace = 'public'::regnamespace),
  (select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid
   where c.relnamespace = 'public'::regnamespace and not a.attisdropped),
  (select count(*) from pg_trigger),
  (select count(*) from pg_proc where pronamespace = 'public'::regnamespace),
  (select count(*) from pg_description d join pg_class c on c.oid = d.objoid
   where c.relnamespace = 'public'::regnamespace and d.classoid = 'pg_class'::regclass),
  (select string_agg(version_num, '') from alembic_version)
"""
_TABLES = "select tablename from pg_tables where schemaname = 'public' and tablename <> 'alembic_version'"
_SEQUENCES = "select sequencename from pg_sequences where schemaname = 'public' and last_value is not null"


class Databases:
    """`server` is the address of its maintenance database."""

    def __init__(self, server: str, template: str) -> None:
        self._server = server
        self._template = template
        self._free: list[str] = []
        self._pristine: asyncpg.Record | None = None
        # Kept open: most of a wipe's time a new connection would spend learning what tables there are.
        self._connections: dict[str, asyncpg.Connection] = {}

    async def take(self) -> str:
        """The name of an empty, migrated database that nobody else has."""
        if self._free:
            return self._free.pop()
        name = f"test_{new_id()}"
        await self._command(f"create database {name} template {self._template}")
        self._connections[name] = connection = await self._connect(name)
        if self._pristine is None:
            self._pristine = await connection.fetchrow(_FINGERPRINT)
        return name

    async def give_back(self, name: str) -> None:
        if await self._wipe(self._connections[name]):
            self._free.append(name)
        else:
            await self._connections.pop(name).close()
            await self._command(f"drop database {name} with (force)")

    async def close(self) -> None:
        for connection in self._connections.values():
            await connection.close()

    async def _wipe(self, connection: asyncpg.Connection) -> bool:
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
        try:
            if await connection.fetchrow(_FINGERPRINT) != self._pristine:
                return False
        except asyncpg.UndefinedTableError:
            return False
        tables = [row[0] for row in await connection.fetch(_TABLES)]
        sequences = [row[0] for row in await connection.fetch(_SEQUENCES)]
        wiping = [f"delete from {table}" for table in tables]
        counting = [f"alter sequence {sequence} restart" for sequence in sequences]
        # Without the foreign keys' triggers, so that the order is all the same.
        await connection.execute("; ".join(["set session_replication_role = replica", *wiping, *counting]))
        return True

    async def _connect(self, name: str) -> asyncpg.Connection:
        # It is idle while a test runs, for which the embedded server would close it after a minute.
        patience = {"idle_session_timeout": "0"}
        address = self._server.replace("/postgres?", f"/{name}?")
        return await asyncpg.connect(address, server_settings=patience)

    async def _command(self, sql: str) -> None:
        connection = await asyncpg.connect(self._server)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()
