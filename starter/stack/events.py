"""The events that `fascicle up` prints: syncs, new chapters, new items, messages, one line each."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import FascicleError
from fascicle.domain.names import FEED_SITE
from fascicle.storage.database import transaction
from fascicle.storage.operations import overview
from fascicle.storage.operations.overview import Watermark
from starter.output import plain, print_line

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

_EVERY_SECONDS = 0.5


def say(what: str, text: str, colour: str = "white") -> None:
    """Print a line with the time; text from others in `text` must have passed `plain`."""
    clock = datetime.now().astimezone().strftime("%H:%M:%S")
    print_line(f"[dim]{clock}[/] [{colour}]{what:<9}[/] {text}")


Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class News:
    synced: Rows
    chapters: Rows
    sent: Rows
    published: Rows
    delivered: Rows


async def follow_events(engine: "AsyncEngine", stop: asyncio.Event) -> None:
    """Print events until `stop` is set. Errors of the database are ignored, and it is tried again."""
    seen: Watermark | None = None
    while not stop.is_set():
        with suppress(FascicleError):
            async with transaction(engine) as connection:
                if seen is None:
                    seen = await overview.watermark(connection)
                news = await _since(connection, seen)
            _advance(seen, news)
            _print(news)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _EVERY_SECONDS)


async def _since(connection: "AsyncConnection", seen: Watermark) -> News:
    return News(
        await overview.synced_besides(connection, seen.synced),
        await overview.chapters_since(connection, seen.chapter_id),
        await overview.sent_since(connection, seen.sent_at),
        await overview.published_since(connection, seen.published_at),
        await overview.delivered_since(connection, seen.run_id),
    )


def _advance(seen: Watermark, news: News) -> None:
    seen.synced.update(row["id"] for row in news.synced)
    seen.chapter_id = max([seen.chapter_id, *(row["id"] for row in news.chapters)])
    seen.sent_at = max([seen.sent_at, *(row["sent_at"] for row in news.sent)])
    seen.published_at = max([seen.published_at, *(row["published_at"] for row in news.published)])
    seen.run_id = max([seen.run_id, *(row["run_id"] for row in news.delivered)])


def _print(news: News) -> None:
    for row in news.synced:
        history = f"{row['entries']} entries" if row["site"] == FEED_SITE else f"{row['chapters']} chapters"
        say("synced", f"{plain(row['title'])}: {history} of history, silently", "cyan")
    for row in news.chapters:
        if row["announce"] != "silent":
            say("chapter", f"[bold]{plain(row['series'])}[/] {_number_and_title(row)}", "green")
    for row in news.delivered:
        say("inbox", f"{plain(row['user'])}: [bold]{plain(row['title'])}[/] ({plain(row['feed'])})", "green")
    for row in news.sent:
        say("told", f"{plain(row['user'] or 'the community')} {_subject(row)}", "magenta")
    for row in news.published:
        say("published", f"[bold]{plain(row['title'])}[/] by {plain(row['account'])}", "blue")


def _subject(row: dict[str, Any]) -> str:
    if row["notice"] is not None:
        about = "of a page" if row["job_key"].startswith("request-") else "about a fic"
        return f"{about}: {plain(row['notice'])}"
    if row["series"] is None:
        return f"in a digest of {row['digest_lines']}"
    return f"about {plain(row['series'])} {_number_and_title(row)}"


def _number_and_title(row: dict[str, Any]) -> str:
    return plain("  ".join(str(part) for part in (row["number"], row.get("title")) if part))
