"""`fascicle status`, `db …`, `doctor`."""

import asyncio
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import typer

from fascicle.domain.errors import FascicleError
from fascicle.domain.names import TASK_QUEUES
from fascicle.runtime.dependencies import build_sites, standalone_http
from fascicle.runtime.setting_names import unknown_in_words
from fascicle.runtime.settings import Settings
from fascicle.storage import account as accounts
from fascicle.storage import dead_letter, fic_view, overview
from fascicle.storage import mail as mails
from fascicle.storage import sale as sales
from fascicle.storage import sweep as sweeps
from fascicle.storage.database import check_schema, schema_versions, transaction, upgrade
from starter.account import account_hints
from starter.backup import backup, restore, restored
from starter.context import (
    database_only,
    effective_settings,
    reading,
    run,
    running_stack,
    temporal_is_named,
    unchecked_client,
    with_a_hint,
)
from starter.feed import feed_hints, feeds_in_words
from starter.options import AsJson
from starter.output import ago, plain, print_facts, print_json, print_line, print_note, print_table
from starter.post_changes import post_hints
from starter.request import request_hints
from starter.sale import sale_hints

if TYPE_CHECKING:
    from temporalio.client import Client

    from fascicle.runtime.deployment import QueueState

# Beyond the delay before it, how long telling of a chapter may take before it is worth a word.
_TELLING_TAKES = 300.0
_STALE = timedelta(minutes=30)

db_app = typer.Typer(help="The database.", no_args_is_help=True)
db_app.command("backup")(backup)
db_app.command("restore")(restore)
db_app.command("restored")(restored)


def status(as_json: AsJson = False) -> None:
    """What is there, what is going on, and what needs a person."""

    async def command() -> None:
        settings = effective_settings()
        async with reading() as dependencies, transaction(dependencies.engine) as connection:
            patience = settings.notify_delay_seconds + _TELLING_TAKES
            totals = await overview.totals(connection, told_within_seconds=patience)
            broken = [f"{adapter.name}: {adapter.error}" for adapter in dependencies.sites.broken]
            letters = await dead_letter.counts_by_code(connection)
            gates = await overview.gates(connection)
            swept = await sweeps.listing(connection)
            circuits = await overview.open_circuits(connection)
            paused = await accounts.paused(connection)
            mail = await mails.undelivered(connection)
            posts = await overview.posts_by_state(connection)
            settled_badly = await overview.posts_for_a_person(connection)
            waiting = await overview.posts_waiting(connection)
            failed_sales = await sales.count_failed(connection)
            fics = await fic_view.counts_by_state(connection)
            feeds = await overview.feed_totals(connection)
            requests = await overview.requests_by_status(connection)
            held_up = await overview.requests_for_a_person(connection)
        stack = running_stack(settings.data_dir) or {}
        places: dict[str, Any] = {k: stack[k] for k in ("web_ui", "ops", "simulator") if k in stack}
        if as_json:
            shown: dict[str, Any] = {
                "dead_letters": letters,
                "gates": gates,
                "sweeps": swept,
                "open_circuits": circuits,
            }
            shown |= {"paused_accounts": paused, "mail_undelivered": mail, "posts": posts}
            shown |= {"posts_waiting": waiting, "failed_sales": failed_sales, "fics": fics}
            shown |= {"feeds": feeds, "requests": requests, "requests_held_up": held_up}
            shown |= {
                f"{state}_posts": [row for row in settled_badly if row["state"] == state]
                for state in ("unconfirmed", "failed")
            }
            print_json({**totals, **shown, "broken_adapters": broken, **places})
            return
        print_facts({**places, **totals, "dead_letters": sum(letters.values())})
        if posts:
            print_facts({"posts": ", ".join(f"{count} {state}" for state, count in posts.items())})
        if fics:
            print_facts({"fics": ", ".join(f"{count} {state}" for state, count in fics.items())})
        if requests:
            print_facts({"requests": ", ".join(f"{count} {status}" for status, count in requests.items())})
        if feeds["feeds"]:
            print_facts({"feeds": feeds_in_words(feeds)})
        _print_part(("name", "delay_seconds", "failures", "blocked_until", "blocked_reason"), gates)
        _print_part(("site", "last_success_at", "failures", "read_up_to"), swept)
        hints = _needs_a_person(totals, letters, swept, circuits)
        hints += [
            *post_hints(settled_badly, waiting),
            *sale_hints(failed_sales),
            *account_hints(paused, mail),
            *feed_hints(feeds),
            *request_hints(held_up),
            *_gate_hints(gates),
            *broken,
        ]
        for hint in hints:
            print_note(f"! {hint}")

    run(command)


def _gate_hints(gates: Sequence[dict[str, Any]]) -> list[str]:
    """Sites that a person paused, and those that keep us away; a rest of our own is no news."""
    paused = [
        f"{gate['name']} is {gate['paused_reason']} ({ago(gate['paused_at'])})"
        for gate in gates
        if gate["paused_at"] is not None
    ]
    return paused + [
        f"{gate['name']} rests until {gate['blocked_until']:%d %b %H:%M} UTC: {gate['blocked_reason']}"
        for gate in gates
        if gate["blocked_until"] is not None and gate["failures"]
    ]


def _print_part(columns: tuple[str, ...], rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        print_line("")
        print_table(columns, rows, empty="")


def _needs_a_person(
    totals: dict[str, Any],
    letters: dict[str, int],
    swept: Sequence[dict[str, Any]],
    circuits: Sequence[dict[str, Any]],
) -> list[str]:
    hints = [
        f"circuit open: {row['title']} on {row['site']} ({row['last_error_code']}): "
        f"fascicle source show {row['id']}"
        for row in circuits[:10]
    ]
    if len(circuits) > 10:
        hints.append(f"… and {len(circuits) - 10} more open circuits: fascicle source list")
    hints += [
        f"{count} dead letters with {code}: fascicle dead-letters list --code {code}"
        for code, count in letters.items()
    ]
    hints += [
        f"the sweep of {row['site']} failed {row['failures']} times; its sources look by themselves: "
        f"{row['last_error']}"
        for row in swept
        if row["failures"]
    ]
    hints += [
        f"the sweep of {row['site']} has not worked for long: temporal workflow query -w sweep-{row['site']} "
        "--name status"
        for row in swept
        if row["last_success_at"] and datetime.now(UTC) - row["last_success_at"] > _STALE
    ]
    if totals["chapters_overdue"]:
        hints.append(f"{totals['chapters_overdue']} chapters should have been told by now: fascicle doctor")
    if totals["deliveries_unconfirmed"]:
        count = totals["deliveries_unconfirmed"]
        hints.append(
            f"{count} messages may or may not have arrived: fascicle dead-letters list --kind deliver"
        )
    return hints


@db_app.command("upgrade")
def db_upgrade() -> None:
    """Bring the schema to this version."""

    async def command() -> None:
        async with database_only(any_schema=True) as dependencies:
            before, _ = await schema_versions(dependencies.engine)
            await upgrade(dependencies.engine)
            after, _ = await schema_versions(dependencies.engine)
        moved = f"{before or 'empty'} → {after}" if before != after else f"{after}, nothing to do"
        print_line(plain(f"schema: {moved}"))

    run(command)


def doctor(as_json: AsJson = False) -> None:
    """Check everything and say what to do about what is wrong."""

    async def command() -> None:
        checks = await _examine()
        if as_json:
            print_json(checks)
        else:
            print_table(("check", "state", "detail"), checks, empty="")
        if any(check["state"] != "ok" for check in checks):
            raise typer.Exit(1)

    run(command)


def _check(name: str, ok: bool, detail: str) -> dict[str, str]:
    return {"check": name, "state": "ok" if ok else "FAIL", "detail": detail}


async def _examine() -> list[dict[str, str]]:
    checks = [_check("python", sys.version_info >= (3, 11), platform.python_version())]
    settings = effective_settings()
    unknown = unknown_in_words()
    checks.append(_check("settings", not unknown, "\n".join(unknown) or f"data folder {settings.data_dir}"))
    stack = running_stack(settings.data_dir)
    named = bool(settings.database_url and temporal_is_named())
    where = "services of the environment" if named else "nothing runs: fascicle up"
    checks.append(_check("stack", named, "embedded stack is running" if stack else where))
    checks.append(await _examine_adapters(settings))
    checks.append(await _examine_database())
    checks.append(await _examine_payload_keys())
    checks += await _examine_temporal()
    return checks


async def _examine_adapters(settings: Settings) -> dict[str, str]:
    async with standalone_http(settings) as http:
        sites = build_sites(settings, http)
    if sites.broken:
        return _check("adapters", False, "\n".join(adapter.error for adapter in sites.broken))
    return _check("adapters", True, f"sites: {', '.join(sites.names)}")


async def _examine_database() -> dict[str, str]:
    try:
        async with database_only(any_schema=True) as dependencies:
            return _check("database", True, f"schema {await check_schema(dependencies.engine)}")
    except FascicleError as error:
        return _check("database", False, with_a_hint(error))


async def _examine_payload_keys() -> dict[str, str]:
    from fascicle.runtime.key_agreement import agree_on_keys

    try:
        async with database_only() as dependencies:
            keys = dependencies.settings.payload
            await agree_on_keys(dependencies.engine, keys, may_begin=False)
    except FascicleError as error:
        return _check("payload keys", False, error.message)
    return _check(
        "payload keys", True, "none: payloads are plain" if keys.seals_with is None else keys.seals_with
    )


async def _examine_temporal() -> list[dict[str, str]]:
    from temporalio.service import RPCError

    from starter.temporal_words import refusal

    if not temporal_is_named():
        return [_check("temporal", False, "no server named: fascicle up, or set TEMPORAL_ADDRESS")]
    try:
        return await _examine_server(await unchecked_client(effective_settings()))
    except FascicleError as error:
        return [_check("temporal", False, with_a_hint(error))]
    except RPCError as error:
        return [_check("temporal", False, refusal(error))]


async def _examine_server(client: "Client") -> list[dict[str, str]]:
    from fascicle.runtime.deployment import queue_state
    from fascicle.runtime.temporal import check_namespace, missing_search_attributes

    days = await check_namespace(client)
    missing = await missing_search_attributes(client)
    attributes = f"missing: {', '.join(missing)}: fascicle setup" if missing else "registered"
    states = await asyncio.gather(*(queue_state(client, queue) for queue in TASK_QUEUES))
    return [
        _check("temporal", True, f"namespace {client.namespace}, history kept for {days} days"),
        _check("search attributes", not missing, attributes),
        *(_examine_workers(queue, state) for queue, state in zip(TASK_QUEUES, states, strict=True)),
    ]


def _examine_workers(queue: str, state: "QueueState") -> dict[str, str]:
    if not state.workers:
        return _check(f"workers on {queue}", False, "none: python worker.py")
    trouble = state.trouble()
    return _check(f"workers on {queue}", trouble is None, trouble or f"{len(state.workers)}")
