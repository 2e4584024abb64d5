"""`fascicle status`: totals, and the problems that need a person."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fascicle.services.dependencies import Dependencies
from fascicle.sites.adapter_files import has_adapters
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic_view
from fascicle.storage.notifications import mail as mails
from fascicle.storage.operations import dead_letter, overview
from fascicle.storage.publishing import account as accounts
from fascicle.storage.publishing import sale as sales
from fascicle.storage.series import sweep as sweeps
from starter.context import command, reading, running_stack
from starter.feeds.feed import feed_hints, feeds_in_words
from starter.options import AsJson
from starter.output import ago, print_facts, print_json, print_line, print_note, print_table
from starter.publishing.account import account_hints
from starter.publishing.post_changes import post_hints
from starter.publishing.sale import sale_hints
from starter.summaries.request import request_hints

# After the notify delay, announcing a chapter may take this long before `status` mentions it.
_TELLING_TAKES = 300.0
_STALE = timedelta(minutes=30)


@command
async def status(as_json: AsJson = False) -> None:
    """What is there, what is going on, and what needs a person."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        settings = dependencies.settings
        patience = settings.notify_delay_seconds + _TELLING_TAKES
        totals = await overview.totals(connection, told_within_seconds=patience)
        broken = _broken_adapters(dependencies)
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


def _broken_adapters(dependencies: Dependencies) -> list[str]:
    """Loading adapters is slower than the rest of this command, so skip it if there are none."""
    if not has_adapters(dependencies.settings.sites_dir):
        return []
    return [f"{adapter.name}: {adapter.error}" for adapter in dependencies.sites.broken]


def _gate_hints(gates: Sequence[dict[str, Any]]) -> list[str]:
    """Sites that a person paused or that block us; our own regular pauses are left out."""
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
