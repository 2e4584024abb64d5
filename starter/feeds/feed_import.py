"""`fascicle feed import`: a list of feeds becomes subscriptions, and every feed gets its workflow (I7).

First all rows are written, in a few statements; then the workflows start. A new run continues a broken one.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.feeds.feed import NOBODY_READS
from fascicle.domain.urls import address_title
from fascicle.imports.feeds_opml import WantedFeed, parse_feed_opml
from fascicle.services.dependencies import Dependencies
from fascicle.services.feeds.following import feed_address
from fascicle.services.series.onboarding import start_source
from fascicle.storage.database import transaction
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import feed_list
from fascicle.storage.feeds import subscription as subscriptions
from starter.context import Reach, command, reach
from starter.feeds.named_feed import user_made
from starter.fics.saved_page import content_of
from starter.options import AsJson
from starter.output import plain, print_json, print_line, print_note, print_table, progress_bar

_LARGEST = 20_000_000
_AT_ONCE = 20
_LOOK_EVERY_SECONDS = 0.5
_LOOKS_BEFORE_A_WORD = 60
_SHOWN = 50


@dataclass
class FeedReport:
    feeds: int
    subscribed: int = 0
    present: int = 0
    waiting: int = 0
    """Feeds without a first look yet."""
    invalid: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _Written:
    created: dict[str, bool]
    """By the source's id: True if nobody followed it before."""
    subscribed: set[str]
    woken: set[str]


@command
async def import_command(
    file: Annotated[Path, typer.Argument(metavar="OPML", help="What another reader exported.")],
    user: Annotated[
        str, typer.Option("--user", help="Who follows the feeds; made if there is no such user.")
    ],
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not watch the first looks.")] = False,
    as_json: AsJson = False,
) -> None:
    """Follow every feed of a list. Run it again to go on after an interruption; history is silent."""

    wanted = parse_feed_opml(content_of(file, most=_LARGEST, what="list of feeds"))
    if not wanted:
        raise UsageError("unusable_file", ". ".join([f"There are no feeds in {file}", *wanted.notes]) + ".")
    async with reach() as r:
        user_id = await user_made(r.dependencies, user)
        report = await import_feeds(r, wanted, user_id, watch=not no_wait)
    if as_json:
        print_json({**vars(report), "user": user, "notes": wanted.notes})
    else:
        _print(report, wanted.notes)


async def import_feeds(r: Reach, wanted: Iterable[WantedFeed], user_id: str, *, watch: bool) -> FeedReport:
    """Safe to interrupt at any moment, and to repeat."""
    by_address, invalid = _addressed(r.dependencies, wanted)
    written = await _write(r.dependencies, user_id, by_address)
    report = FeedReport(len(by_address) + len(invalid), invalid=invalid)
    report.subscribed = len(written.subscribed)
    report.present = len(by_address) - report.subscribed
    await _start_workflows(r, written)
    if watch:
        await _watch(r.dependencies, written.created)
    looks = await _first_looks(r.dependencies, written.created)
    report.waiting = sum(not look["checked"] for look in looks)
    report.failed = [
        {"source_id": look["id"], **{name: look[name] for name in ("title", "url", "error_code", "error")}}
        for look in looks
        if look["error_code"] and not look["read"]
    ]
    return report


def _addressed(
    dependencies: Dependencies, wanted: Iterable[WantedFeed]
) -> tuple[dict[str, WantedFeed], list[dict[str, Any]]]:
    """The feeds by the address they are fetched at, and those with an invalid address."""
    valid: dict[str, WantedFeed] = {}
    invalid: list[dict[str, Any]] = []
    for feed in wanted:
        try:
            valid.setdefault(dependencies.feeds.address_of(feed_address(feed.url)), feed)
        except UsageError as error:
            invalid.append({"url": feed.url, "title": feed.title, "reason": error.message})
    return valid, invalid


async def _write(dependencies: Dependencies, user_id: str, by_address: dict[str, WantedFeed]) -> _Written:
    titles = [(address, feed.title or address_title(address)) for address, feed in by_address.items()]
    async with transaction(dependencies.engine) as connection:
        added = await feed_list.add_many(connection, titles)
        created = dict(added.values())
        unread = await subscriptions.unread(connection, list(created))
        rows = {added[address][0]: feed for address, feed in by_address.items()}
        subscribed = await subscriptions.add_many(
            connection, user_id, [(source_id, feed.title, feed.folder) for source_id, feed in rows.items()]
        )
        woken = {source_id for source_id in unread & subscribed if not created[source_id]}
        for source_id in woken:
            await feeds.begin_anew(connection, source_id)
    return _Written(created, subscribed, woken)


async def _start_workflows(r: Reach, written: _Written) -> None:
    looks = await _first_looks(r.dependencies, written.created)
    turns = asyncio.Semaphore(_AT_ONCE)
    with progress_bar("starting", len(looks)) as advance:

        async def start(look: dict[str, Any]) -> None:
            async with turns:
                handle = await start_source(r.client, look, anew=written.created[look["id"]])
                # An import that was interrupted here has left the feed paused, although it has a reader.
                if look["id"] in written.woken or (look["paused_reason"] == NOBODY_READS and look["wanted"]):
                    await handle.signal("resume")
            advance()

        await _all(start(look) for look in looks)


async def _all(jobs: Iterable[Any]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _watch(dependencies: Dependencies, source_ids: Collection[str]) -> None:
    """Wait until every feed had its first look, or the person presses Ctrl-C."""
    waiting = await _unlooked(dependencies, source_ids)
    silent_looks = 0
    with progress_bar("first looks", len(waiting)) as advance:
        try:
            while waiting:
                await asyncio.sleep(_LOOK_EVERY_SECONDS)
                left = await _unlooked(dependencies, waiting)
                for _ in range(len(waiting) - len(left)):
                    advance()
                silent_looks = silent_looks + 1 if len(left) == len(waiting) else 0
                if silent_looks == _LOOKS_BEFORE_A_WORD:
                    print_note(
                        "No feed was looked at for a while. Is a worker running? See `fascicle doctor`."
                    )
                waiting = left
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None:
                task.uncancel()  # Ctrl-C ends the watching, not the import


async def _unlooked(dependencies: Dependencies, source_ids: Collection[str]) -> set[str]:
    async with transaction(dependencies.engine) as connection:
        return await feed_list.without_look(connection, source_ids)


async def _first_looks(dependencies: Dependencies, source_ids: Collection[str]) -> list[dict[str, Any]]:
    async with transaction(dependencies.engine) as connection:
        return await feed_list.first_looks(connection, source_ids)


def _print(report: FeedReport, notes: Sequence[str]) -> None:
    _print_rows("No addresses", ("title", "url", "reason"), report.invalid)
    _print_rows("Failed at the first look; they are tried again", ("title", "url", "error"), report.failed)
    for note in notes:
        print_note(note)
    print_line(
        f"{report.feeds} feeds: [green]{report.subscribed} new[/], {report.present} followed already, "
        f"[yellow]{len(report.invalid)} without a usable address[/], [red]{len(report.failed)} failing[/]"
    )
    if report.waiting:
        print_line(
            f"{report.waiting} wait for their first look; their workflows go on by themselves: "
            + plain("fascicle feed list")
        )


def _print_rows(heading: str, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    print_line(f"[bold]{heading}[/]")
    print_table(columns, rows[:_SHOWN], empty="")
    if len(rows) > _SHOWN:
        print_line(f"… and {len(rows) - _SHOWN} more")
    print_line("")
