"""`fascicle db backup`, `restore`, `restored`: write the database to a file, and restore it safely."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fascicle.domain.errors import FascicleError, PermanentError, UsageError
from fascicle.domain.names import new_id
from fascicle.services.operations.postgres_programs import PostgresPrograms
from fascicle.settings.settings import load_settings
from fascicle.storage.database import (
    check_is_known,
    database_errors,
    known_versions,
    newest_version,
    schema_versions,
    transaction,
    upgrade,
)
from fascicle.storage.operations import backup as backups
from fascicle.storage.operations.backup import Contents
from fascicle.storage.operations.restored import doubt_what_may_have_happened
from starter.context import command
from starter.operations.database_places import Place, database_alone, database_as_it_is, programs_of
from starter.operations.restored_words import in_words
from starter.options import AsJson
from starter.output import plain, print_json, print_line

BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]
Silent = Annotated[
    bool, typer.Option("--silent", help="Tell nobody of chapters that came out since the backup.")
]


@command
async def backup(
    file: BackupFile,
    force: Annotated[bool, typer.Option("--force", help="Replace a file of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the database into FILE, as it is at this moment; work goes on meanwhile."""

    _check_can_be_written(file, force)
    async with database_as_it_is() as place:
        with _written_at_once(file) as draft:
            held = await dump(place, draft)
    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file.absolute()), "bytes": size, "schema": held.schema, "rows": held.rows})
    else:
        print_line(plain(f"{file}: {_size(size)}, schema {held.schema}, {_in_words(held.rows)}"))


@command
async def restore(
    file: BackupFile,
    replace: Annotated[
        bool, typer.Option("--replace", help="In the place of what the database holds, which is lost.")
    ] = False,
    silent: Silent = False,
    as_json: AsJson = False,
) -> None:
    """Bring the database back from FILE. Stop everything first; what may have happened since is doubted."""

    settings = load_settings()
    await check_is_ours(programs_of(settings), _readable(file))
    async with database_alone(settings) as place:
        await bring_back(place, file, replace=replace)
        async with transaction(place.engine) as connection:
            rows = await backups.count_rows(connection)
        shown = {"file": str(file.absolute()), "schema": newest_version(), "rows": rows}
        said = f"restored {file} into {place.name}: {_in_words(rows)}"
        await _doubt(place, silent=silent, as_json=as_json, shown=shown, said=said)


@command
async def restored(silent: Silent = False, as_json: AsJson = False) -> None:
    """After the database was restored by other means, before workers start: doubt what may have happened."""

    async with database_alone(load_settings(), others_may_look=True) as place:
        there, wanted = await schema_versions(place.engine)
        check_is_known(there)
        if there != wanted:
            raise UsageError(
                "wrong_schema",
                f"The database has schema {there or 'none'}, not {wanted}: first `fascicle db upgrade`.",
            )
        await _doubt(place, silent=silent, as_json=as_json, shown={})


async def dump(place: Place, draft: Path) -> Contents:
    """Write the dump and return its contents, both from one snapshot."""
    async with database_errors(), place.engine.connect() as connection:
        held = await backups.contents(connection)
        await place.programs.check_versions(await backups.server_version(connection), "pg_dump")
        await place.programs.dump(draft, snapshot=held.snapshot)
    return held


async def check_is_ours(programs: PostgresPrograms, file: Path) -> None:
    """Raises UsageError unless the file is a backup of ours, with a schema that this code can upgrade."""
    version = await programs.version_in(file)
    if version in known_versions():
        return
    if version.isdecimal() and version > newest_version():
        raise UsageError(
            "database_newer",
            f"{file} was written by a newer Fascicle (schema {version}, this one knows {newest_version()}). "
            "Install that version.",
        )
    if version.isdecimal():
        raise UsageError(
            "database_older",
            f"{file} has schema {version}, which this version can no longer upgrade. Restore it with an "
            "earlier version and run its `fascicle db upgrade`.",
        )
    raise UsageError("not_a_backup", f"{file} is a dump of another program's database (schema {version!r}).")


async def bring_back(place: Place, file: Path, *, replace: bool) -> None:
    """Replace the database's contents by the file's; if the restore fails, the database is unchanged."""
    async with transaction(place.engine) as connection:
        server = await backups.server_version(connection)
        is_empty = await backups.is_empty(connection)
    await place.programs.check_versions(server, "pg_restore", "psql")
    if not is_empty and not replace:
        raise UsageError(
            "not_empty",
            f"{place.name} is not empty. `--replace` puts the backup in the place of what is there, which is "
            "lost; back that up first (`fascicle db backup`) if it may be of use.",
        )
    await place.engine.dispose()
    await place.programs.restore(file, replace=not is_empty)
    try:
        await upgrade(place.engine)
    except FascicleError as error:
        raise PermanentError(
            error.code,
            f"The backup is restored, but not ready: {error.message} When that is mended, and before any "
            "worker starts: `fascicle db upgrade` and `fascicle db restored`.",
        ) from error


async def _doubt(
    place: Place, *, silent: bool, as_json: bool, shown: dict[str, Any], said: str | None = None
) -> None:
    """Settle the doubts first, then print: the reader of the output may be gone."""
    async with transaction(place.engine) as connection:
        doubts = await doubt_what_may_have_happened(connection, silent=silent)
    if as_json:
        print_json({**shown, "silent": silent, "doubts": asdict(doubts)})
        return
    if said is not None:
        print_line(plain(said))
    for line in in_words(doubts, silent=silent, is_embedded=place.is_embedded):
        print_line(plain(line))


def _in_words(rows: dict[str, int]) -> str:
    return ", ".join(f"{count} {name if count != 1 else name[:-1]}" for name, count in rows.items())


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.1f} kB"


def _readable(file: Path) -> Path:
    try:
        with file.open("rb"):
            return file
    except OSError as error:
        raise UsageError("no_file", f"{file} cannot be read: {error.strerror}.") from error


def _check_can_be_written(file: Path, force: bool) -> None:
    if file.is_dir() or not file.parent.is_dir():
        raise UsageError("wrong_usage", f"{file} is no name for a file in a folder that is there.")
    if file.exists() and not force:
        raise UsageError("file_exists", f"{file} is there already: --force replaces it.")


@contextmanager
def _written_at_once(file: Path) -> Iterator[Path]:
    """Use another name until the file is complete and on disk; only the owner may read it, it has secrets."""
    draft = file.with_name(f".{file.name}.{new_id()}")
    try:
        draft.touch(mode=0o600, exist_ok=False)
        yield draft
        _to_disk(draft)
        draft.replace(file)
        _to_disk(file.parent)
    except OSError as error:
        raise PermanentError("cannot_write", f"{file} cannot be written: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
