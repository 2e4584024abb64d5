"""`fascicle feed preview`: the entries of a feed. Nothing is stored, no database is needed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.feeds.feed import ParsedFeed
from fascicle.domain.given_text import check_is_text
from fascicle.services.dependencies import build_sandbox, standalone_http
from fascicle.services.feeds.following import feed_address
from fascicle.services.waiting import patiently
from fascicle.sites.feeds.client import Feeds
from fascicle.sites.feeds.reader import FeedReader
from starter.context import command, effective_settings
from starter.fics.saved_page import content_of
from starter.options import AsJson
from starter.output import print_facts, print_json, print_note, print_table

_LARGEST = 20_000_000
_SHOWN = ("id", "url", "title", "published_at", "author", "media_url", "duration_seconds")
_COLUMNS = ("title", "published_at", "author", "url")


@command
async def preview(
    feed: Annotated[str, typer.Argument(metavar="URL|FILE", help="A feed's or page's address, or a file.")],
    as_json: AsJson = False,
) -> None:
    """What a feed yields, or why it is none. Nothing is stored."""

    check_is_text(feed)
    found = await (_fetched(feed) if _is_address(feed) else _saved(Path(feed)))
    print_json(found) if as_json else _show(found)


def _is_address(text: str) -> bool:
    return "://" in text or text.startswith("feed:")


async def _saved(file: Path) -> dict[str, Any]:
    address = file.absolute().as_uri()  # noqa: ASYNC240 - a command, with nothing beside it
    try:
        body = content_of(file, most=_LARGEST, what="feed")
    except UsageError as error:
        raise UsageError(error.code, f"{error.message} Addresses begin with https://.") from error
    async with build_sandbox(effective_settings()) as sandbox:
        return _facts(await FeedReader(sandbox).read(body, url=address))


async def _fetched(url: str) -> dict[str, Any]:
    settings, address = effective_settings(), feed_address(url)
    async with standalone_http(settings) as http, build_sandbox(settings) as sandbox:
        reader = FeedReader(sandbox, max_entries=settings.feed_max_entries)
        feeds = Feeds(http, reader, gate=settings.feed_gate, youtube=settings.youtube_url)
        found = await patiently(lambda: feeds.find(address), print_note)
    return {"url": found.address, **_facts(found.parsed)}


def _facts(parsed: ParsedFeed) -> dict[str, Any]:
    items = [{"id": entry.key, **entry.model_dump(include=set(_SHOWN))} for entry in parsed.entries]
    return {
        **parsed.model_dump(include={"kind", "format", "title", "site_url", "language", "description"}),
        "entries": parsed.entries_total,
        "items": [{name: item[name] for name in _SHOWN} for item in items],
        "notes": list(_notes(parsed)),
    }


def _notes(parsed: ParsedFeed) -> list[str]:
    left = parsed.entries_total - parsed.skipped - len(parsed.entries)
    notes = {
        f"{parsed.skipped} entries are empty: they are left out": parsed.skipped,
        f"{left} more entries are doubles, or more than are read of one document": left > 0,
        f"it says that it has moved to {parsed.moved_to}": parsed.moved_to,
        parsed.note: parsed.note,
    }
    return [note for note, applies in notes.items() if applies]


def _show(found: dict[str, Any]) -> None:
    items, notes = found.pop("items"), found.pop("notes")
    print_facts({name: value for name, value in found.items() if value not in (None, "")})
    print_table(_COLUMNS, items, empty="It has no entries.")
    for note in notes:
        print_note(note)
