"""Numbers that a series skips (C12): reported, never filled in by guessing."""

from collections.abc import Iterable
from decimal import Decimal

_SHOWN = 10


def missing_numbers(numbers: Iterable[Decimal]) -> list[tuple[int, int]]:
    """The whole numbers from 1 to the highest that have no chapter, as ranges. 12.5 does not stand for 12."""
    there = sorted({int(number) for number in numbers if number == number.to_integral_value() and number > 0})
    gaps, expected = [], 1
    for number in there:
        if number > expected:
            gaps.append((expected, number - 1))
        expected = number + 1
    return gaps


def describe(gaps: list[tuple[int, int]]) -> str:
    """`3, 12–14, 20`; the end of a long list is only counted."""
    words = [str(first) if first == last else f"{first}–{last}" for first, last in gaps[:_SHOWN]]
    rest = sum(last - first + 1 for first, last in gaps[_SHOWN:])
    return ", ".join(words) + (f" and {rest} more" if rest else "")
