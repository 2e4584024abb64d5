"""Parses the options of `fascicle automation create`."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.publishing.automation import DAYS, Rule, parse_rule
from fascicle.domain.publishing.automation_defaults import AutomationDefaults, Price, parse_price, value_of
from fascicle.storage.publishing.automation import first_reason

MAX_NAME = 100
_HOURS = re.compile(r"(\d{1,2})-(\d{1,2})", re.ASCII)
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]", re.ASCII)
_MONEY = re.compile(r"([0-9.]+) ?([A-Za-z]{3})", re.ASCII)


@dataclass(frozen=True)
class RuleOptions:
    at: list[str]
    every: int | None
    per_day: int | None
    between: str | None
    days: str | None


def check_name(name: str) -> None:
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or "/" in name:
        raise UsageError("wrong_name", f"A name is 1 to {MAX_NAME} printable characters without a slash.")


def rule_of(options: RuleOptions) -> Rule:
    if sum(map(bool, (options.at, options.every, options.per_day))) != 1:
        raise UsageError("wrong_usage", "Say when: either --at 18:00, or --every MINUTES, or --per-day N.")
    if options.between is not None and not options.per_day:
        raise UsageError("wrong_usage", "--between belongs to --per-day.")
    days = {} if options.days is None else {"days": _days(options.days)}
    try:
        return parse_rule({**_figures(options), **days})
    except ValidationError as error:
        raise UsageError("wrong_usage", f"That rule does not work: {first_reason(error)}.") from error


def _figures(options: RuleOptions) -> dict[str, Any]:
    if options.at:
        return {"kind": "fixed_time", "times": [_time(one) for one in options.at]}
    if options.every:
        return {"kind": "fixed_interval", "every_minutes": options.every}
    return {"kind": "daily_quota", "count": options.per_day, **_hours(options.between)}


def _time(text: str) -> str:
    if not _CLOCK.fullmatch(text):
        raise UsageError("wrong_usage", f"{text!r} is no time of day: use 24 hours, such as 18:00.")
    return text.zfill(5)


def _hours(between: str | None) -> dict[str, int]:
    if between is None:
        return {}
    hours = _HOURS.fullmatch(between)
    if hours is None:
        raise UsageError("wrong_usage", f"{between!r} are no hours: use two of one day, such as 9-22.")
    return {"from_hour": int(hours[1]), "to_hour": int(hours[2])}


def _days(text: str) -> list[str] | None:
    """None: all days."""
    if text.strip().lower() == "all":
        return None
    days = [day.strip().lower() for day in text.split(",") if day.strip()]
    wrong = [day for day in days if day not in DAYS]
    if wrong or not days:
        said = repr(wrong[0]) if wrong else "Nothing"
        raise UsageError("wrong_usage", f"{said} is no day: use some of {','.join(DAYS)}, or all.")
    return days


def defaults_of(given: list[str]) -> AutomationDefaults:
    values: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise UsageError("wrong_usage", f"{one!r}: say --default name=value, such as tags=ink,night.")
        check_is_text(value)
        values[name.strip()] = value_of(name.strip(), value)
    try:
        return AutomationDefaults.model_validate(values)
    except ValidationError as error:
        raise UsageError("wrong_usage", f"That default does not work: {first_reason(error)}.") from error


def price_of(points: int | None, money: str | None) -> Price | None:
    """None: not for sale."""
    if points is not None and money is not None:
        raise UsageError("wrong_usage", "Either --sale-points or --sale-price.")
    if points is None and money is None:
        return None
    amount = None if money is None else _MONEY.fullmatch(money)
    if money is not None and amount is None:
        raise UsageError("wrong_usage", f"{money!r} is no price: use an amount and a currency, 12.50USD.")
    try:
        if amount is not None:
            return parse_price({"amount": amount[1], "currency": amount[2].upper()})
        return parse_price({"points": points})
    except ValidationError as error:
        raise UsageError("wrong_usage", f"That price does not work: {first_reason(error)}.") from error
