"""The view of an automation: its rule in words, its past runs, and its next ones."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import PermanentError
from fascicle.domain.publishing.automation import (
    Window,
    due_windows,
    in_words,
    next_windows,
    parse_rule,
    recent_for,
)
from fascicle.domain.publishing.automation_defaults import price_in_words
from fascicle.storage.publishing import automation as automations
from fascicle.storage.publishing import firing as firings
from fascicle.storage.publishing.automation import Automation
from starter.output import plain, print_facts, print_line, print_note, print_table

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_WINDOWS = 5
_RUNS = 5
_CANDIDATES = 20


def rule_in_words(row: Mapping[str, Any]) -> str:
    try:
        return in_words(parse_rule(row["rule"]))
    except ValueError:  # another program wrote it
        return "invalid"


async def shown(connection: "AsyncConnection", row: dict[str, Any], now: datetime) -> dict[str, Any]:
    """All facts about an automation, as `show` prints them."""
    view = {
        **row,
        "rule_in_words": rule_in_words(row),
        "drafts_waiting": await firings.count_drafts(connection, row["account_id"]),
        "runs": await automations.runs(connection, row["id"], _RUNS),
        "next_windows": [],
        "problem": None,
    }
    try:
        automation = automations.checked(row)
    except PermanentError as error:
        return {**view, "problem": error.message}
    if row["enabled"]:
        view["next_windows"] = [_times(window, automation) for window in _coming(automation, now)]
    return view


async def foreseen(
    connection: "AsyncConnection", automation: Automation, now: datetime, every: timedelta
) -> dict[str, Any]:
    """The result of the due and the next windows, if the drafts stay as they are. Changes nothing."""
    due = due_windows(
        automation.rule, automation.zone, automation.active_since, now, recent=recent_for(every)
    )
    fired = await automations.fired_keys(connection, automation.id, [window.key for window in due])
    owed = [window for window in due if window.key not in fired]
    windows = [*owed, *_coming(automation, now)]
    drafts = await firings.drafts(connection, automation, SystemRandom(), limit=_CANDIDATES)
    candidates = [
        {"post_id": draft["id"], "title": draft["title"], "filled": automation.defaults.filling(draft)}
        for draft in drafts
    ]
    return {
        "automation": automation.name,
        "strategy": automation.strategy,
        "due_now": len(owed),
        "drafts": await firings.count_drafts(connection, automation.account_id),
        "candidates": candidates,
        "windows": [
            {**_times(window, automation), "post_id": _pick(automation.strategy, candidates, place)}
            for place, window in enumerate(windows)
        ],
    }


def _pick(strategy: str, candidates: Sequence[Mapping[str, Any]], place: int) -> str | None:
    """The draft for the window at that place; None with `random`, as it cannot be predicted."""
    if strategy == "random" or place >= len(candidates):
        return None
    return str(candidates[place]["post_id"])


def _coming(automation: Automation, now: datetime) -> list[Window]:
    return next_windows(automation.rule, automation.zone, automation.active_since, now, _WINDOWS)


def _times(window: Window, automation: Automation) -> dict[str, Any]:
    local = window.at.astimezone(automation.zone)
    return {
        "window": window.key,
        "local": f"{local:%a %Y-%m-%d %H:%M %Z}",
        "utc": f"{window.at.astimezone(UTC):%Y-%m-%d %H:%M}",
    }


def print_shown(view: Mapping[str, Any]) -> None:
    facts = {
        "id": view["id"],
        "name": view["name"],
        "account": view["account"],
        "enabled": "yes" if view["enabled"] else "no",
        "rule": view["rule_in_words"],
        "time_zone": view["time_zone"],
        "strategy": view["strategy"],
        "defaults": _values(view["defaults"]),
        "jitter": f"up to {view['jitter_seconds']:.0f} s",
        "sale": price_in_words(view["sale"]) if view["sale"] and not view["problem"] else view["sale"],
        "drafts_waiting": view["drafts_waiting"],
    }
    print_facts(facts)
    if view["problem"]:
        print_note(f"It cannot fire: {view['problem']}")
    if view["account_paused"]:
        print_note("Its account is paused: nothing fires until it is connected again.")
    print_line("")
    nothing = "No windows to come." if view["enabled"] else "It is disabled: fascicle automation enable NAME"
    print_table(("local", "utc"), view["next_windows"], empty=nothing)
    print_line("")
    print_runs(view["runs"])


def print_runs(runs: Sequence[Mapping[str, Any]]) -> None:
    rows = [{**run, "window": run["window_key"], "detail": _detail(run)} for run in runs]
    print_table(
        ("at", "window", "outcome", "post_id", "title", "detail"), rows, empty="It has not fired yet."
    )


def _detail(run: Mapping[str, Any]) -> Any:
    if run["outcome"] == "no_drafts":
        return "no draft was ready; the window is used up"
    return run["detail"]["message"] if run["detail"] and "message" in run["detail"] else run["detail"]


def print_foreseen(view: Mapping[str, Any]) -> None:
    due = view["due_now"]
    print_line(f"Due now: {due or 'nothing'}. Drafts ready: {view['drafts']}.")
    titles = {candidate["post_id"]: candidate["title"] for candidate in view["candidates"]}
    unknown = "one of those below" if view["strategy"] == "random" and titles else "no draft"
    rows = [{**window, "draft": titles.get(window["post_id"], unknown)} for window in view["windows"]]
    print_table(("local", "utc", "draft"), rows, empty="No windows to come.")
    print_line("")
    for candidate in view["candidates"]:
        filled = _values(candidate["filled"]) or "nothing"
        print_line(plain(f"{candidate['post_id']}  {candidate['title']}  fills: {filled}"))


def _values(given: Any) -> str:
    """Values in the form in which they are typed, `tags=ink,night feature=no`; invalid data unchanged."""
    if not isinstance(given, dict):
        return str(given)
    return " ".join(f"{name}={_value(value)}" for name, value in given.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
