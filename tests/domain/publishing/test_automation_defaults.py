"""Default values and price presets of automations (P7)."""

from typing import Any

import pytest
from pydantic import ValidationError

from fascicle.domain.errors import UsageError
from fascicle.domain.publishing.automation_defaults import (
    DEFAULTED,
    AutomationDefaults,
    parse_price,
    price_in_words,
    value_of,
)


@pytest.mark.parametrize(
    ("column", "held", "fills"),
    [
        ("feature", None, True),
        ("feature", False, False),
        ("display_resolution", None, True),
        ("display_resolution", 0, False),
        ("description", "", False),
        ("tags", [], False),
        ("tags", None, True),
    ],
)
def test_p7_only_what_is_unset_is_filled(column: str, held: Any, fills: bool) -> None:
    defaults = AutomationDefaults(feature=True, display_resolution=3, description="x", tags=["ink"])
    post = {**dict.fromkeys(DEFAULTED, "set"), column: held}
    wanted = {column: getattr(defaults, column)} if fills else {}
    assert defaults.filling(post) == wanted


def test_p7_a_default_may_be_false_or_nothing() -> None:
    defaults = AutomationDefaults(allow_comments=False, tags=[], display_resolution=0)
    assert defaults.filling(dict.fromkeys(DEFAULTED)) == {
        "allow_comments": False, "tags": [], "display_resolution": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        {"surprise": 1},
        {"tags": ["two words"]},
        {"tags": [f"t{n}" for n in range(31)]},
        {"display_resolution": 9},
        {"mature_level": "extreme"},
        {"is_mature": True},
        {"mature_classification": ["rude"]},
        {"description": "a\0b"},
        {"feature": "perhaps"},
    ],
)
def test_x7_defaults_that_no_post_can_have_are_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AutomationDefaults.model_validate(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [({"points": 80}, "80 points"), ({"amount": "12.50", "currency": "USD"}, "12.50 USD")],
)
def test_p7_a_price_is_points_or_money(value: dict[str, Any], words: str) -> None:
    assert parse_price(value).model_dump() == value
    assert price_in_words(value) == words


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"points": 0},
        {"amount": "0", "currency": "USD"},
        {"amount": "1e3", "currency": "USD"},
        {"amount": "NaN", "currency": "USD"},
        {"amount": "12.505", "currency": "USD"},
        {"amount": "12", "currency": "usd"},
        {"points": 5, "amount": "1", "currency": "USD"},
    ],
)
def test_x7_a_price_that_nobody_can_pay_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        parse_price(value)


def test_p7_defaults_as_they_are_typed() -> None:
    assert value_of("tags", "ink, night,") == ["ink", "night"]
    assert value_of("description", "a, b") == "a, b"
    with pytest.raises(UsageError, match="has no default"):
        value_of("title", "x")
