"""Numbers that a series skips (C12): reported, never filled in by guessing."""

import math
from collections.abc import Iterable
from decimal import Decimal

_SHOWN = 10


def missing_numbers(spans: Iterable[tuple[Decimal, Decimal]]) -> list[tuple[int, int]]:
    """The whole numbers from 1 to the highest that have no chapter, as ranges.

    A chapter spans its number, or all the numbers of a range such as 1-8. 12.5 does not stand for 12.
    """
    there = sorted(filter(None, map(_whole, spans)))
    gaps, expected = [], 1
    for first, last in there:
        if first > expected:
            gaps.append((expected, first - 1))
        expected = max(expected, last + 1)
    return gaps


def _whole(span: tuple[Decimal, Decimal]) -> tuple[int, int] | None:
    """The whole numbers within, if there are any."""
    first, last = math.ceil(span[0]), math.floor(span[1])
    return (first, last) if last > 0 and first <= last else None


def describe(gaps: list[tuple[int, int]]) -> str:
    """`3, 12–14, 20`; the end of a long list is only counted."""
    words = [str(first) if first == last else f"{first}–{last}" for first, last in gaps[:_SHOWN]]
    rest = sum(last - first + 1 for first, last in gaps[_SHOWN:])
    return ", ".join(words) + (f" and {rest} more" if rest else "")
