"""Chapter keys (C5)."""

import re
import time
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fascicle.domain.series.chapter_key import assign_keys, canonical_form, exact_form, number_of, read_number


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


@pytest.mark.parametrize(
    ("raw", "exact", "number"),
    [
        ("19a", "19a", "19.1"),
        ("19.A", "19a", "19.1"),
        ("19-i", "19i", "19.9"),
        ("19j", "19j", "19"),
        ("19.5a", "19.5a", "19.5"),
        ("5.extra", "5extra", "5.99"),
        ("5 Omake", "5omake", "5.98"),
        ("5.special2", "5special2", "5.97"),
        ("12v2", "12", "12"),
        ("１２．５", "12.5", "12.5"),
        ("12,50", "12.50", "12.5"),
        ("1,000", "1000", "1000"),
        ("024-005", "24.005", "24.005"),
        ("1-8", "1-8", "8"),
        ("001–008", "1-8", "8"),
        ("1 & 2", "1-2", "2"),
        ("1-ch.8v3", "1-8", "8"),
        ("150-153b", "150-153b", "153.2"),
    ],
)
def test_c5_letters_and_ranges_are_numbers(raw: str, exact: str, number: str) -> None:
    read = read_number(raw)
    assert read is not None
    assert (read.exact, read.canonical) == (exact, number)
    assert number_of(raw) == Decimal(number)
    assert exact_form(read.canonical) == read.canonical


@pytest.mark.parametrize(
    "raw", ["1.2.3", "-1", "٣", "1e5", "12abc", "1-2-3", "12 - 3", "c1", "5.", "Extra", "12²"]
)
def test_c5_what_is_no_number_has_none(raw: str) -> None:
    assert number_of(raw) is None


@pytest.mark.parametrize("pattern", ["9", "1,", "1.", "1-", "1a", "a", "1 ", "extra"])
def test_c5_long_garbage_is_no_number_and_found_out_quickly(pattern: str) -> None:
    begun = time.process_time()
    assert keys(pattern * 10_000, (pattern * 40)[:40]) == ["x:u0", "x:u1"]
    assert time.process_time() - begun < 0.5


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


def test_c5_letters_and_ranges_have_the_key_of_their_number() -> None:
    assert keys("19a", "5.extra", "1-8", "12v2", "12") == ["19.1", "5.99", "8", "12", "12"]


@pytest.mark.parametrize(
    ("plain", "other"), [("19.1", "19a"), ("8", "1-8"), ("5.99", "5.extra"), ("12", "12j")]
)
def test_c5_a_letter_or_a_range_never_takes_the_place_of_the_plain_number(plain: str, other: str) -> None:
    together = keys(other, plain)
    assert together[1] == plain
    assert together[0] == read_number(other).exact  # type: ignore[union-attr]
    assert keys(other, stored={plain: plain}) == [together[0]]
    assert keys(plain, other, stored={plain: other}) == [f"{plain}:{plain}", plain], (
        "a key once given is kept"
    )


def test_c5_without_a_number_the_upload_is_its_own_chapter() -> None:
    assert keys(None, "Extra") == ["x:u0", "x:u1"]


def test_c5_volumes_enter_the_key_only_where_numbering_restarts() -> None:
    listed = [Listed("a", "1", "1"), Listed("b", "1", "02"), Listed("c", "2", None)]
    assert set(assign_keys(listed, {}).values()) == {"1", "2"}
    assert assign_keys(listed, {}, per_volume=True) == {"a": "v1:1", "b": "v2:1", "c": "2"}


def test_c5_a_volume_without_a_number_is_spelt_so_that_it_fits_an_id() -> None:
    listed = [Listed("a", "1", "Bonus / 番外"), Listed("b", "1", "1\n" * 5000)]
    bonus, long = assign_keys(listed, {}, per_volume=True).values()
    assert bonus == "vBonus%20%2F%20%E7%95%AA%E5%A4%96:1"
    assert re.fullmatch(r"[\w.%:-]{1,800}", long, re.ASCII)


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


parts = st.builds(
    "{}{}".format,
    st.from_regex(r"\A0?[0-9](\.[0-9]{1,2})?\Z"),
    st.sampled_from(["", "", "a", ".b", "-j", ".extra", " omake", "extra1"]),
)
versions = st.sampled_from(["", "", "v2"])
written = st.builds(
    "{}{}".format, parts | st.builds("{}{}{}".format, parts, st.sampled_from("-~&"), parts), versions
)
volumes = st.sampled_from([None, "", "1", "01", "2", "1:8", "8", "A", "%41"])


@given(written)
def test_c5_any_key_of_its_own_number_is_plain_and_idempotent(raw: str) -> None:
    (key,) = keys(raw)
    if number_of(raw) is not None:
        assert keys(key) == [key]
        assert number_of(key) == number_of(raw) == Decimal(key)


@given(st.integers(0, 999), st.sampled_from([*"abcdefghi", ".special", ".omake", ".extra"]))
def test_c5_what_follows_a_chapter_is_sorted_before_the_next(whole: int, suffix: str) -> None:
    number = number_of(f"{whole}{suffix}")
    assert number is not None
    assert whole < number < whole + 1


@given(st.lists(st.lists(st.tuples(written, volumes), max_size=8), max_size=5), st.booleans())
def test_c5_no_two_numbers_collide_in_any_batches(
    batches: list[list[tuple[str, str | None]]], per_volume: bool
) -> None:
    stored: dict[str, str | None] = {}
    chapter_of: dict[str, tuple[str, str]] = {}
    for batch, rows in enumerate(batches):
        listed = [Listed(f"{batch}.{i}", raw, volume) for i, (raw, volume) in enumerate(rows)]
        numbers = {number_of(upload.number) for upload in listed}
        # As `keys_with_numbers` does: only keys with these numbers are looked up.
        taken = {key: raw for key, raw in stored.items() if number_of(raw) in numbers}
        assigned = assign_keys(listed, taken, per_volume=per_volume)
        for upload in listed:
            key = assigned[upload.upload_id]
            stored.setdefault(key, upload.number)
            assert chapter_of.setdefault(key, identity(upload, per_volume)) == identity(upload, per_volume)
            assert re.fullmatch(r"[0-9a-zA-Z.:%-]+", key)
    assert len(set(chapter_of.values())) == len(chapter_of), "one chapter, one key"


def identity(upload: Listed, per_volume: bool) -> tuple[str, str]:
    volume = (upload.volume or "") if per_volume else ""
    number = read_number(upload.number)
    return (exact_form(volume) or volume, number.exact) if number else ("x", upload.upload_id)
