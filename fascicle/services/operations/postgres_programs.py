"""PostgreSQL's own pg_dump, pg_restore and psql, run on a database.

A database's address and password go into a program's environment: everybody can read command lines.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.embedded.environment import bare_environment
from fascicle.storage.database import MARK_AS_UNDOUBTED, asyncpg_url

_MAGIC = b"PGDMP"
_CHUNK = 1 << 16
_MOST_WORDS = 2000
# Wait for a running migration, but not for ever.
_LOCK_WAIT = "--lock-wait-timeout=60s"
_VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "ssl": "PGSSLMODE"}
# The table with the schema's version, read from a dump.
_VERSION_TABLE = "alembic_version"
# It exists since the first version, and in no other program's database.
_OUR_TABLE = b"logical_chapter"


@dataclass(frozen=True)
class PostgresPrograms:
    """`folder` contains the programs; None: they are on the PATH."""

    database_url: str
    folder: Path | None = None

    async def dump(self, file: Path, *, snapshot: str) -> None:
        """Write the database as that snapshot shows it, in pg_dump's custom format."""
        # By name: at the end pg_dump updates the top of the file, which it cannot do if that is its stdout.
        argv = ["--format=custom", f"--file={file}", "--no-password", f"--snapshot={snapshot}", _LOCK_WAIT]
        async with self._running("pg_dump", *argv) as process:
            _, said = await process.communicate()
        if process.returncode:
            raise PermanentError("backup_failed", f"pg_dump failed: {_words(said)}")

    async def version_in(self, file: Path) -> str:
        """The schema's version in a dump. Raises UsageError for a file that is no dump of ours."""
        with file.open("rb") as opened:
            if opened.read(len(_MAGIC)) != _MAGIC:
                raise UsageError(
                    "not_a_backup", f"{file} is no backup: `fascicle db backup` and pg_dump -Fc make them."
                )
        tables = re.findall(
            rb"^\d+; \d+ \d+ TABLE public (\w+) ", await self._read(file, "--list"), re.MULTILINE
        )
        rows = await self._read(file, "--file=-", "--data-only", f"--table={_VERSION_TABLE}")
        found = re.search(rb"^COPY [^\n]*alembic_version[^\n]*\n([^\n\\]+)\n", rows, re.MULTILINE)
        # Other programs use Alembic too: only our databases have our table.
        if found is None or _OUR_TABLE not in tables:
            raise UsageError("not_a_backup", f"{file} is a dump of another database than Fascicle's.")
        return found[1].decode()

    async def _read(self, file: Path, *argv: str) -> bytes:
        async with self._running("pg_restore", *argv, str(file), stdout=asyncio.subprocess.PIPE) as process:
            read, said = await process.communicate()
        if process.returncode:
            raise UsageError("damaged_backup", f"{file} cannot be read: {_words(said)}")
        return read

    async def restore(self, file: Path, *, replace: bool) -> None:
        """Restore all or nothing: psql gets `commit` only after the file was read to its end."""
        argv = ["--file=-", "--no-owner", "--no-privileges", str(file)]
        psql = ["--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--output=/dev/null"]
        pipe = asyncio.subprocess.PIPE
        async with (
            self._running("pg_restore", *argv, stdout=pipe) as reader,
            self._running("psql", *psql, stdin=pipe) as writer,
        ):
            assert reader.stdout and reader.stderr and writer.stdin and writer.stderr  # noqa: PT018
            read_words = asyncio.create_task(reader.stderr.read())
            written_words = asyncio.create_task(writer.stderr.read())
            await _feed(writer.stdin, f"begin;\n{_EMPTIED if replace else ''}".encode())
            while script := await reader.stdout.read(_CHUNK):
                if not await _feed(writer.stdin, script):
                    break
            else:
                if await reader.wait() == 0:
                    await _feed(writer.stdin, f"\n{MARK_AS_UNDOUBTED}\ncommit;\n".encode())
            writer.stdin.close()
            refused = await writer.wait()
        _check_restored(file, reader.returncode, await read_words, refused, await written_words)

    async def check_versions(self, server: int, *names: str) -> None:
        """Raises PermanentError if a program is missing, or older than the server (its major version)."""
        for name in names:
            async with self._running(name, "--version", stdout=asyncio.subprocess.PIPE) as process:
                said, _ = await process.communicate()
            found = re.search(rb"\(PostgreSQL\) (\d+)", said)
            if found is None or int(found[1]) < server:
                which = f"version {found[1].decode()}" if found else "no PostgreSQL program"
                raise PermanentError(
                    "program_too_old",
                    f"{name} is {which}, the server is PostgreSQL {server}: install the client programs of "
                    f"{server} or newer, and have them first on the PATH.",
                )

    @asynccontextmanager
    async def _running(
        self, name: str, *argv: str, stdin: int | None = None, stdout: int | None = None
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            self._place(name),
            *argv,
            stdin=asyncio.subprocess.DEVNULL if stdin is None else stdin,
            stdout=asyncio.subprocess.DEVNULL if stdout is None else stdout,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment(),
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def _place(self, name: str) -> str:
        found = shutil.which(name, path=None if self.folder is None else str(self.folder))
        if found is None:
            raise PermanentError(
                "program_missing",
                f"There is no {name} on the PATH: install PostgreSQL's client programs (postgresql-client).",
            )
        return found

    def _environment(self) -> dict[str, str]:
        # For the embedded database, ignore PGHOST and similar variables of the environment.
        kept = bare_environment(*(("PG", "KRB5") if self.folder is None else ()))
        return {**kept, **libpq_environment(self.database_url), "PGCONNECT_TIMEOUT": "10"}


# A new schema `public` gets PostgreSQL's default grant.
_EMPTIED = """set local lock_timeout = '10s';
set local client_min_messages = warning; -- no notice for each dropped table
drop schema public cascade;
create schema public;
grant usage on schema public to public;
"""


def libpq_environment(database_url: str) -> Mapping[str, str]:
    """The address as environment variables of PostgreSQL's own programs."""
    url = asyncpg_url(database_url)
    given = {
        name: ",".join([value] if isinstance(value, str) else value) for name, value in url.query.items()
    }
    given |= {
        name: str(value)
        for name, value in (("host", url.host), ("port", url.port), ("user", url.username))
        if value
    }
    environment = {_VARIABLES[name]: value for name, value in given.items() if name in _VARIABLES}
    if url.database:
        environment["PGDATABASE"] = url.database
    if url.password:
        environment["PGPASSWORD"] = str(url.password)
    return environment


async def _feed(stdin: asyncio.StreamWriter, script: bytes) -> bool:
    """False: psql has ended; its stderr says why."""
    try:
        stdin.write(script)
        await stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def _check_restored(
    file: Path, read: int | None, read_words: bytes, refused: int, written_words: bytes
) -> None:
    if refused:
        raise PermanentError(
            "restore_failed", f"The database refused {file}: {_words(written_words)} Nothing was changed."
        )
    if read:
        raise PermanentError(
            "damaged_backup", f"{file} cannot be read to its end: {_words(read_words)} Nothing was changed."
        )


def _words(said: bytes) -> str:
    lines = [line for line in said.decode(errors="replace").strip().splitlines() if line.strip()]
    return " ".join(lines)[:_MOST_WORDS].rstrip(".") + "."
