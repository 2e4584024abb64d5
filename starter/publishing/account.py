"""`fascicle account …`: the accounts that posts are published with, and the keys of their tokens."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fascicle.domain.errors import FascicleError, UsageError
from fascicle.domain.gate import GatePolicy, circuit
from fascicle.domain.given_text import check_is_text
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.publishing import account as accounts
from starter.context import check_keys, command, database_only, reading, temporal_client, temporal_is_named
from starter.notifications.user import user_named
from starter.options import AsJson
from starter.output import plain, print_json, print_line, print_note, print_table

if TYPE_CHECKING:
    from fascicle.services.publishing.account_connection import Connected

app = typer.Typer(help="Accounts that posts are published with.", no_args_is_help=True)

AccountRef = Annotated[str, typer.Argument(help="An account's id or name.")]

_COLUMNS = (
    "name", "id", "user", "state", "circuit", "gate_delay_seconds", "generation", "access_expires_at",
    "refresh_expires_at", "posts_waiting", "why",
)  # fmt: skip
_DAY = 86400.0


@app.command("connect")
@command
async def connect_account(
    user: Annotated[str | None, typer.Option(help="Whose account it is: they get its mail.")] = None,
    client_port: Annotated[
        int | None, typer.Option(help="Come back to http://127.0.0.1:PORT/callback.", min=0, max=65535)
    ] = None,
    redirect_uri: Annotated[
        str | None, typer.Option(help="Come back to this address, registered with DeviantArt.")
    ] = None,
    paste: Annotated[
        bool, typer.Option("--paste", help="Read the code, or the address it came back with, from stdin.")
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    name: Annotated[
        str | None, typer.Option(help="What the account is called, should DeviantArt not say so.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Connect a DeviantArt account, or connect it again. Its posts that waited go on."""
    from fascicle.services.publishing.account_connection import finish_connecting
    from starter.publishing.oauth_invitation import ask_for_paste, ask_in_browser, come_back_to, is_loopback

    async with database_only() as dependencies:
        check_keys(dependencies.settings)
        if name is not None:
            check_is_text(name)
        user_id = None if user is None else await user_named(dependencies, user)
        address = come_back_to(dependencies.settings, redirect_uri, client_port)
        if paste or not is_loopback(address):
            invitation, code = await ask_for_paste(dependencies.oauth, address)
        else:
            invitation, code = await ask_in_browser(dependencies.oauth, address, open_browser=not no_browser)
        connected = await finish_connecting(
            dependencies, invitation, code, user_id=user_id, name=name, say=print_note
        )
        woken = await _wake(dependencies, connected)
    if as_json:
        print_json({**connected.as_json(), "user": user, "posts_woken": woken})
        return
    word = "connected" if connected.created else "connected again"
    waiting = f"; {woken} waiting posts go on" if woken else ""
    print_line(f"Account [bold]{plain(connected.name)}[/] ({connected.id}) {word}{waiting}")


@app.command("list")
@command
async def list_accounts(as_json: AsJson = False) -> None:
    """All accounts: whether they are active, how their gates stand, how long their tokens last."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        found = await accounts.listing(connection)
        rows = [shown_account(row, dependencies.settings.account_gate) for row in found]
    if as_json:
        print_json(rows)
    else:
        print_table(_COLUMNS, rows, empty="No accounts: fascicle account connect")


@app.command("check")
@command
async def check_accounts(
    account: Annotated[str | None, typer.Argument(help="An account's id or name; else all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask DeviantArt whether it takes our tokens, renewing them where needed. Exit 1: something is wrong."""

    async with database_only() as dependencies:
        check_keys(dependencies.settings)
        if account is not None:
            wanted = [await account_named(dependencies, account)]
        else:
            async with transaction(dependencies.engine) as connection:
                wanted = await accounts.ids(connection)
        rows = [await _checked(dependencies, account_id) for account_id in wanted]
    if as_json:
        print_json(rows)
    else:
        print_table(("account", "outcome", "detail"), rows, empty="No accounts: fascicle account connect")
    if any(row["outcome"] != "ok" for row in rows):
        raise typer.Exit(1)


@app.command("rotate-keys")
@command
async def rotate_keys(as_json: AsJson = False) -> None:
    """Encrypt all tokens and channels with the first key; the others may go then. Repeatable.
    Exit 1: some are left."""
    from fascicle.services.publishing.account_keys import in_words, outcomes, rotate_account, rotate_channel
    from fascicle.storage.notifications.channel import ids as channel_ids

    async with database_only() as dependencies:
        check_keys(dependencies.settings)
        first = (await dependencies.vault.keyring()).first
        async with transaction(dependencies.engine) as connection:
            wanted = await accounts.ids(connection)
            channels = await channel_ids(connection)
        rows = [await rotate_account(dependencies, account_id) for account_id in wanted]
        channel_rows = [await rotate_channel(dependencies, channel_id) for channel_id in channels]
    failed = [row for row in (*rows, *channel_rows) if row["outcome"] == "failed"]
    counts, of_channels = outcomes(rows), outcomes(channel_rows)
    if as_json:
        print_json({"key": first, **counts, "channels": of_channels, "failures": failed})
    else:
        print_line(f"Key {first or '-'}: {in_words(counts)}; channels: {in_words(of_channels)}")
        if failed:
            print_table(("account", "channel", "outcome", "detail"), failed, empty="")
    if failed:
        raise typer.Exit(1)


@app.command("new-key")
def make_key(as_json: AsJson = False) -> None:
    """A fresh key, for FASCICLE_TOKEN_KEYS or its file. Put it first, then `rotate-keys`."""
    from starter.operations.new_key import print_new_key

    print_new_key(as_json)


@app.command("set")
@command
async def set_account(
    account: AccountRef,
    user: Annotated[str, typer.Option(help="Whose account it is: they get its mail.")],
    as_json: AsJson = False,
) -> None:
    """Say whose account it is."""

    async with database_only() as dependencies:
        account_id = await account_named(dependencies, account)
        user_id = await user_named(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            await accounts.set_owner(connection, account_id, user_id)
    if as_json:
        print_json({"id": account_id, "user": user})
    else:
        print_line(plain(f"{account} belongs to {user}"))


async def account_named(dependencies: Dependencies, wanted: str) -> str:
    """An account's id, by id or name."""
    check_is_text(wanted)
    async with transaction(dependencies.engine) as connection:
        found = await accounts.find(connection, wanted)
    if not found:
        raise UsageError("unknown_account", f"There is no account {wanted!r}. See `fascicle account list`.")
    if len(found) > 1:
        raise UsageError("ambiguous_account", f"Several accounts are named {wanted!r}: {', '.join(found)}.")
    return found[0]


def shown_account(row: dict[str, Any], policy: GatePolicy) -> dict[str, Any]:
    now: datetime = row["now"]
    stands = circuit(row["refusals"], row["open_until"], now, policy)
    paused = row["paused_at"] is not None
    return {
        **{name: row[name] for name in ("id", "name", "site", "user", "generation", "posts_waiting")},
        "state": "paused" if paused else "active",
        "why": row["paused_reason"],
        **{name: row[name] for name in ("paused_at", "paused_code", "refreshed_at")},
        "gate_delay_seconds": policy.floor if row["delay_seconds"] is None else row["delay_seconds"],
        "circuit": stands,
        "circuit_until": row["open_until"] if stands == "open" else None,
        "access_expires_at": row["access_expires_at"],
        "refresh_expires_at": row["refresh_expires_at"],
        "access_days_left": _days(row["access_expires_at"], now),
        "refresh_days_left": _days(row["refresh_expires_at"], now),
    }


def account_hints(paused: Sequence[dict[str, Any]], mail: Mapping[str, int]) -> list[str]:
    """The hints of `status` about accounts that need a person, and about undelivered mail."""
    hints = [f"{row['name']} is paused: {row['paused_reason']} fascicle account connect" for row in paused]
    if failed := mail.get("failed"):
        what = "1 mail" if failed == 1 else f"{failed} mails"
        hints.append(f"{what} could not be sent: check FASCICLE_MAIL_URL or FASCICLE_SMTP_HOST")
    if doubtful := mail.get("unconfirmed"):
        hints.append(f"{doubtful} mails may or may not have arrived")
    return hints


def _days(until: datetime | None, now: datetime) -> float | None:
    return None if until is None else round((until - now).total_seconds() / _DAY, 2)


async def _wake(dependencies: Dependencies, connected: "Connected") -> int:
    """Wake the account's posts. If Temporal does not answer, `reconcile` finds the posts later."""
    from temporalio.service import RPCError

    from fascicle.services.publishing.account_connection import wake_posts

    try:
        if temporal_is_named():
            return await wake_posts(dependencies, await temporal_client(dependencies), connected.id)
    except (RPCError, FascicleError) as error:
        print_note(f"Its posts could not be told ({error}); they go on within a minute or so.")
    return 0


async def _checked(dependencies: Dependencies, account_id: str) -> dict[str, Any]:
    from fascicle.services.publishing.account_connection import patiently
    from fascicle.sites.deviantart.oauth import account_gate

    gate = account_gate(account_id, dependencies.settings.account_gate)

    async def check(refused: str | None = None) -> None:
        token = await dependencies.tokens.bearer(account_id, refused=refused)
        try:
            await patiently(lambda: dependencies.deviantart.check(token, gate), print_note)
        except FascicleError as error:
            if error.code != "token_refused" or refused is not None:
                raise
            await check(refused=token)

    try:
        await check()
    except FascicleError as error:
        return {"account": account_id, "outcome": "FAIL", "code": error.code, "detail": error.message}
    return {"account": account_id, "outcome": "ok", "code": None, "detail": "DeviantArt takes the token"}
