"""Finds the source and the series that a command names."""

from typing import Any

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.series import source as sources


async def series_named(dependencies: Dependencies, wanted: str) -> tuple[str, str]:
    """The id and title of the one series with that id or title."""
    _check_not_empty(wanted, "series")
    async with transaction(dependencies.engine) as connection:
        found = await sources.find_series(connection, wanted)
    if not found:
        raise UsageError("unknown_series", f"There is no series {wanted!r}. See `fascicle source list`.")
    if len(found) > 1:
        choices = "\n".join(f"  {series_id}  {title}" for series_id, title in found)
        raise UsageError("ambiguous_series", f"{wanted!r} fits several series; use an id:\n{choices}")
    return found[0]


async def source_named(dependencies: Dependencies, wanted: str) -> dict[str, Any]:
    """The one source with that id, workflow id, URL or title."""
    _check_not_empty(wanted, "source")
    async with transaction(dependencies.engine) as connection:
        listed = await sources.listing(connection)
    wanted = wanted.removeprefix("source-")
    for matches in (
        lambda row: wanted in (row["id"], row["url"], row["site_key"]),
        lambda row: row["title"].lower() == wanted.lower(),
        lambda row: wanted.lower() in row["title"].lower(),
    ):
        found = [row for row in listed if matches(row)]
        if len(found) == 1:
            return found[0]
        if found:
            choices = "\n".join(f"  {row['id']}  {row['title']} ({row['site']})" for row in found)
            raise UsageError("ambiguous_source", f"{wanted!r} fits several sources; use an id:\n{choices}")
    raise UsageError("unknown_source", f"There is no source {wanted!r}. See `fascicle source list`.")


def _check_not_empty(wanted: str, what: str) -> None:
    check_is_text(wanted)
    if not wanted.strip():
        raise UsageError("wrong_usage", f"Which {what}? Give an id or a title. See `fascicle source list`.")
