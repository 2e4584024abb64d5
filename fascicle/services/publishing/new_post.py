"""Creating a post: stores its rows in the database and its files in the object store."""

import asyncio
import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.names import new_id
from fascicle.domain.publishing.post import CHECKED, MAX_FILES, check_post, check_size
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post as posts


@dataclass(frozen=True)
class NewPost:
    files: list[Path]
    title: str
    options: dict[str, Any]


async def create_post(
    dependencies: Dependencies, account_id: str, new: NewPost, stored: Callable[[], None] = lambda: None
) -> str:
    """Create a draft with all its files, or nothing; `stored` is called for each file.

    The rows are written before the files, so that an interrupted upload can be cleaned up by them.
    """
    _check(new, largest=dependencies.settings.file_max_bytes)
    post_id = new_id()
    rows = [_row(post_id, place, path) for place, path in enumerate(new.files, start=1)]
    async with transaction(dependencies.engine) as connection:
        await posts.create(connection, post_id, account_id, new.title, new.options)
        await posts.add_files(connection, post_id, rows)
    try:
        await _store(dependencies, post_id, new.files, rows, stored)
    except BaseException:
        async with transaction(dependencies.engine) as connection:
            await posts.delete(connection, post_id, datetime.now(UTC))
        raise
    return post_id


async def _store(
    dependencies: Dependencies,
    post_id: str,
    files: list[Path],
    rows: list[dict[str, Any]],
    stored: Callable[[], None],
) -> None:
    for path, row in zip(files, rows, strict=True):
        size = await dependencies.objects.put_file(row["object_key"], path)
        if size != row["size"]:
            raise UsageError("file_changed", f"{path} changed while it was read. Try again.")
        async with transaction(dependencies.engine) as connection:
            await posts.file_is_stored(connection, post_id, row["position"])
        await asyncio.sleep(0)
        stored()


def _check(new: NewPost, *, largest: int) -> None:
    check_is_text(new.title)
    check_is_text(new.options.get("description") or "")
    check_post(**{name: value for name, value in _said(new).items() if name in CHECKED})
    if len(new.files) > MAX_FILES:
        raise UsageError("too_many_files", f"{len(new.files)} files; {MAX_FILES} are allowed.")
    for path in new.files:
        if not path.is_file():
            raise UsageError("no_such_file", f"There is no file {path}.")
        check_size(path.name, path.stat().st_size, largest=largest)


def _said(new: NewPost) -> dict[str, Any]:
    return {"title": new.title, **new.options}


def _row(post_id: str, place: int, path: Path) -> dict[str, Any]:
    """Object keys are never reused, so that a late clean-up cannot delete another post's file."""
    guessed, _ = mimetypes.guess_type(path.name)
    return {
        "position": place,
        "object_key": f"posts/{post_id}/{place}-{new_id()}{_suffix(path)}",
        "file_name": path.name,
        "content_type": guessed or "application/octet-stream",
        "size": path.stat().st_size,
    }


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    return suffix if suffix[1:].isascii() and suffix[1:].isalnum() and len(suffix) <= 10 else ""
