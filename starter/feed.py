"""What `fascicle up` shows while it runs: syncs, new chapters, messages, a line each."""

import asyncio
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import FascicleError
from fascicle.storage import overview
from fascicle.storage.database import transaction
from fascicle.storage.overview import Watermark
from starter.output import plain, print_line

_EVERY_SECONDS = 0.5


def say(what: str, text: str, colour: str = "white") -> None:
    """A line with the time; what is not ours in `text` has passed `plain`."""
    clock = datetime.now().astimezone().strftime("%H:%M:%S")
    print_line(f"[dim]{clock}[/] [{colour}]{what:<9}[/] {text}")


async def follow_events(engine: AsyncEngine, stop: asyncio.Event) -> None:
    """Print what happens until told to stop. A database that is away for a while is waited for."""
    seen: Watermark | None = None
    while not stop.is_set():
        try:
            async with transaction(engine) as connection:
                if seen is None:
                    seen = await overview.watermark(connection)
                synced = await overview.synced_besides(connection, seen.synced)
                chapters = await overview.chapters_since(connection, seen.chapter_id)
                sent = await overview.sent_since(connection, seen.sent_at)
                published = await overview.published_since(connection, seen.published_at)
        except FascicleError:
            synced, chapters, sent, published = [], [], [], []
        if seen is not None:
            _advance(seen, synced, chapters, sent)
            seen.published_at = max([seen.published_at, *(row["published_at"] for row in published)])
        _print(synced, chapters, sent)
        for row in published:
            say("published", f"[bold]{plain(row['title'])}[/] by {plain(row['account'])}", "blue")
        try:
            await asyncio.wait_for(stop.wait(), _EVERY_SECONDS)
        except TimeoutError:
            continue


Rows = list[dict[str, Any]]


def _advance(seen: Watermark, synced: Rows, chapters: Rows, sent: Rows) -> None:
    seen.synced.update(row["id"] for row in synced)
    seen.chapter_id = max([seen.chapter_id, *(row["id"] for row in chapters)])
    seen.sent_at = max([seen.sent_at, *(row["sent_at"] for row in sent)])


def _print(synced: Rows, chapters: Rows, sent: Rows) -> None:
    for row in synced:
        say("synced", f"{plain(row['title'])}: {row['chapters']} chapters of history, silently", "cyan")
    for row in chapters:
        if row["announce"] != "silent":
            say("chapter", f"[bold]{plain(row['series'])}[/] {_number_and_title(row)}", "green")
    for row in sent:
        say("told", f"{plain(row['user'] or 'the community')} {_subject(row)}", "magenta")


def _subject(row: dict[str, Any]) -> str:
    if row["fic"] is not None:
        return f"about a fic: {plain(row['fic'])}"
    if row["series"] is None:
        return f"in a digest of {row['digest_lines']}"
    return f"about {plain(row['series'])} {_number_and_title(row)}"


def _number_and_title(row: dict[str, Any]) -> str:
    return plain("  ".join(str(part) for part in (row["number"], row.get("title")) if part))
