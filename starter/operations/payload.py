"""`fascicle payload …`: the keys that encrypt what passes through Temporal (docs/encryption.md)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.services.dependencies import Dependencies
from fascicle.settings.payload_keys import PayloadKeys
from fascicle.storage.database import transaction
from fascicle.storage.operations import payload_key
from starter.context import command, database_only, temporal_is_named
from starter.operations.new_key import print_new_key
from starter.options import AsJson
from starter.output import print_json, print_line, print_note, print_table

if TYPE_CHECKING:
    from fascicle.services.operations.payload_use import KeyUse

app = typer.Typer(help="Keys that encrypt what passes through Temporal.", no_args_is_help=True)

_COLUMNS = ("id", "state", "fingerprint", "first_used_at", "open_workflows", "closed_workflows")
_OPEN, _CLOSED = "ExecutionStatus = 'Running'", "ExecutionStatus != 'Running'"

Most = Annotated[int, typer.Option(help="Look at so many open and so many closed workflows.", min=0)]


@app.command("new-key")
def make_key(as_json: AsJson = False) -> None:
    """A fresh key, for FASCICLE_PAYLOAD_KEYS. First behind the others, everywhere; then in front."""
    print_new_key(as_json)


@app.command("keys")
@command
async def show_keys(
    most: Most = 500,
    needing: Annotated[
        str | None, typer.Option(metavar="KEY", help="Name the workflows that have payloads under this key.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which keys there are, whether each is here, and how many workflows still have payloads under it."""

    async with database_only() as dependencies:
        recorded, uses = await _recorded(dependencies), await _uses(dependencies, most)
        rows = _rows(dependencies.settings.payload, recorded, uses)
    if needing is not None:
        named = [{"workflow": each, "is": name} for name, use in uses.items() for each in use.by_key[needing]]
        print_json(named) if as_json else print_table(("workflow", "is"), named, empty="None.")
        return
    looked = {name: {"looked_at": use.looked_at, "there_are": use.there_are} for name, use in uses.items()}
    if as_json:
        print_json({"keys": rows, "workflows": looked})
        return
    print_table(_COLUMNS, rows, empty="No keys: payloads are plain.")
    for name, use in uses.items():
        print_note(f"Looked at {use.looked_at} of {use.there_are} {name} workflows, the newest first.")


@app.command("forget")
@command
async def forget_key(
    key: Annotated[str, typer.Argument(help="The id of a key that is to be removed.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also if workflows need it: what is under it is lost to them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Demand a key no longer, once no workflow needs it. Then it may leave FASCICLE_PAYLOAD_KEYS."""

    async with database_only() as dependencies:
        if key == dependencies.settings.payload.seals_with:
            raise UsageError("key_in_use", f"{key!r} encrypts what is new: put another key before it first.")
        if key not in await _recorded(dependencies):
            raise UsageError("unknown_key", f"No key {key!r} was ever used: `fascicle payload keys`.")
        if not force:
            await _check_is_unused(dependencies, key)
        async with transaction(dependencies.engine) as connection:
            await payload_key.forget(connection, key)
    print_json({"forgotten": key}) if as_json else print_line(f"{key} is demanded no longer.")


async def _check_is_unused(dependencies: Dependencies, key: str) -> None:
    """Checks all workflows: a sample is not enough to remove a key safely."""
    uses = await _uses(dependencies, None)
    if used := {name: len(use.by_key[key]) for name, use in uses.items() if use.by_key[key]}:
        counts = " and ".join(f"{count} {name}" for name, count in used.items())
        raise PermanentError(
            "key_in_use",
            f"{counts} workflows have payloads under {key!r}: fascicle payload keys --needing {key}. Open "
            "ones lose them when they end or continue as new, closed ones when their retention is over.",
        )


async def _recorded(dependencies: Dependencies) -> dict[str, dict[str, Any]]:
    async with transaction(dependencies.engine) as connection:
        return {row["id"]: row for row in await payload_key.listing(connection)}


async def _uses(dependencies: Dependencies, most: int | None) -> "Mapping[str, KeyUse]":
    from fascicle.services.operations.payload_use import find_use
    from fascicle.temporal.client import connect

    if not temporal_is_named():
        raise UsageError("no_temporal", "Temporal is needed to look: fascicle up, or set TEMPORAL_ADDRESS.")
    client = await connect(dependencies.settings.payload)
    return {
        name: await find_use(client, query, most) for name, query in (("open", _OPEN), ("closed", _CLOSED))
    }


def _rows(
    ours: PayloadKeys, recorded: Mapping[str, dict[str, Any]], uses: "Mapping[str, KeyUse]"
) -> list[dict[str, Any]]:
    """Our own keys in order, then recorded ones, then unknown ones found in histories."""
    met = [key_id for use in uses.values() for key_id in use.by_key]
    return [
        {
            "id": key_id,
            "state": _state(ours, key_id, recorded.get(key_id)),
            "fingerprint": recorded.get(key_id, {}).get("fingerprint") or ours.ring.fingerprints.get(key_id),
            "first_used_at": recorded.get(key_id, {}).get("first_used_at"),
            **{f"{name}_workflows": len(use.by_key[key_id]) for name, use in uses.items()},
        }
        for key_id in dict.fromkeys([*ours.ring.fingerprints, *recorded, *met])
    ]


def _state(ours: PayloadKeys, key_id: str, recorded: Mapping[str, Any] | None) -> str:
    fingerprint = ours.ring.fingerprints.get(key_id)
    if fingerprint is None:
        return "missing here"
    if recorded is not None and recorded["fingerprint"] != fingerprint:
        return f"another here ({fingerprint})"
    if key_id == ours.seals_with:
        return "encrypts"
    return "decrypts" if recorded is not None else "decrypts, not used yet"
