"""Places where a worker can be made to stand within a transaction: triggers that want a lock, which the
experiment holds for as long as nobody is to pass."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

# Any constant will do: it keeps these locks apart from the application's.
_KIND = 7_207

_TRIGGERS = f"""
create function stand_at(place text, request_id text) returns void language sql as $$
  select pg_advisory_xact_lock_shared({_KIND}, hashtext(place || ' ' || request_id)) $$;

create function stand_in_request() returns trigger language plpgsql as $$ begin
  if new.status <> old.status then perform stand_at(new.status, new.id);
  elsif new.stage is distinct from old.stage then perform stand_at(new.stage, new.id);
  elsif new.validated is distinct from old.validated or new.problems <> old.problems then
    perform stand_at('verdict', new.id);
  end if;
  return new;
end $$;
create trigger stand before update on request for each row execute function stand_in_request();

create function stand_in_article() returns trigger language plpgsql as $$ begin
  perform stand_at('article', new.request_id); return new;
end $$;
create trigger stand before insert on request_article for each row execute function stand_in_article();

create function stand_in_call() returns trigger language plpgsql as $$ begin
  -- Of `notes:2:3`, how many there are is nobody's business here.
  perform stand_at(new.state || ' ' || substring(new.step from '^[a-z]+(?::[0-9]+)?'), new.request_id);
  return new;
end $$;
create trigger stand before insert or update on llm_call for each row execute function stand_in_call();

create function stand_in_delivery() returns trigger language plpgsql as $$ begin
  perform stand_at(new.state, substring(new.job_key from '^request-(.*)$')); return new;
end $$;
create trigger stand before update on delivery for each row execute function stand_in_delivery();
"""
_WITHOUT = """
drop function stand_in_request, stand_in_article, stand_in_call, stand_in_delivery cascade;
drop function stand_at"""
_STANDS = """
select exists (select 1 from pg_locks
  where locktype = 'advisory' and not granted and classid::bigint = $1
    and database = (select oid from pg_database where datname = current_database())
    and objid::bigint = hashtext($2)::bigint & 4294967295)"""


class Places:
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()

    async def block(self, place: str, request_id: str) -> None:
        """Whoever comes there with that request stands there, in the middle of its transaction."""
        async with self._turn:
            await self._connection.execute(
                "select pg_advisory_lock($1, hashtext($2))", _KIND, f"{place} {request_id}"
            )

    async def is_reached(self, place: str, request_id: str) -> bool:
        async with self._turn:
            return bool(await self._connection.fetchval(_STANDS, _KIND, f"{place} {request_id}"))

    async def unblock(self) -> None:
        """All of them. What a dead worker has begun there is rolled back: nobody is left to commit it."""
        async with self._turn:
            await self._connection.execute("select pg_advisory_unlock_all()")


@asynccontextmanager
async def open_places(database_url: str) -> AsyncIterator[Places]:
    connection = await asyncpg.connect(database_url.replace("postgresql+asyncpg", "postgresql"))
    try:
        await connection.execute(_TRIGGERS)
        yield Places(connection)
    finally:
        await connection.execute("select pg_advisory_unlock_all()")
        await connection.execute(_WITHOUT)  # the database may be somebody else's next
        await connection.close()
