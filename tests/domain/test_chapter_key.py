"""Chapter keys (C5)."""

from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fascicle.domain.chapter_key import assign_keys, canonical_form, exact_form, number_of


@dataclass(frozen=True)
class Listed:
    upload_id: str
    number: str | None
    volume: str | None = None


@pytest.mark.parametrize(
    ("raw", "exact"),
    [
        ("45", "45"),
        ("045", "45"),
        ("45.0", "45"),
        ("45.5", "45.5"),
        ("0.10", "0.10"),
        ("000", "0"),
        (" 7 ", "7"),
        ("", None),
        (None, None),
        ("19a", None),
        ("1.2.3", None),
        ("-1", None),
        ("٣", None),
        ("1e5", None),
    ],
)
def test_c5_exact_form(raw: str | None, exact: str | None) -> None:
    assert exact_form(raw) == exact


def keys(*numbers: str | None, stored: dict[str, str | None] | None = None) -> list[str]:
    listed = [Listed(f"u{i}", number) for i, number in enumerate(numbers)]
    assigned = assign_keys(listed, stored or {})
    return [assigned[upload.upload_id] for upload in listed]


def test_c5_spellings_of_one_number_share_a_key() -> None:
    assert keys("045", "45.0", "45", "45.5") == ["45", "45", "45", "45.5"]


def test_c5_a_trailing_zero_alone_means_nothing() -> None:
    assert keys("0.10") == ["0.1"]


def test_c5_a_source_that_lists_both_keeps_them_apart() -> None:
    assert keys("0.10", "0.1") == ["0.10", "0.1"]


def test_c5_a_key_once_given_is_kept_when_the_other_form_appears_later() -> None:
    assert keys("0.10", stored={"0.1": "0.1"}) == ["0.10"]
    later = keys("0.1", "0.10", stored={"0.1": "0.10"})
    assert later[1] == "0.1", "the stored chapter keeps its key"
    assert later[0] not in ("0.1", "0.10")


def test_c5_without_a_number_the_upload_is_its_own_chapter() -> None:
    assert keys(None, "Extra") == ["x:u0", "x:u1"]


def test_c5_volumes_enter_the_key_only_where_numbering_restarts() -> None:
    listed = [Listed("a", "1", "1"), Listed("b", "1", "02"), Listed("c", "2", None)]
    assert set(assign_keys(listed, {}).values()) == {"1", "2"}
    assert assign_keys(listed, {}, per_volume=True) == {"a": "v1:1", "b": "v2:1", "c": "2"}


decimals = st.from_regex(r"\A[0-9]{1,4}(\.[0-9]{1,3})?\Z")


@given(decimals)
def test_c5_the_canonical_form_is_idempotent_and_keeps_the_number(raw: str) -> None:
    exact = exact_form(raw)
    assert exact is not None
    canonical = canonical_form(exact)
    assert exact_form(canonical) == canonical
    assert number_of(raw) == Decimal(raw) == Decimal(canonical)


@given(st.lists(decimals, max_size=30), st.randoms(use_true_random=False))
def test_c5_no_two_numbers_of_one_source_collide_in_any_order(numbers: list[str], random: object) -> None:
    shuffled = sorted(numbers, key=lambda _: random.random())  # type: ignore[attr-defined]
    for ordering in (numbers, shuffled):
        by_key: dict[str, set[str | None]] = {}
        for number, key in zip(ordering, keys(*ordering), strict=True):
            by_key.setdefault(key, set()).add(exact_form(number))
        assert all(len(forms) == 1 for forms in by_key.values())
