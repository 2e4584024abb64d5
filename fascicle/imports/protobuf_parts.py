"""Counts the messages of a backup before any of them is parsed.

An empty message takes two bytes of the file and a hundred of memory.
"""

from collections.abc import Iterator

from fascicle.imports.wanted import MAX_ROWS, unusable

# The most fields of a backup and its series: nobody reads 20,000 series of more than fifty chapters each.
MOST_PARTS = 1_500_000
_SERIES = 1
_VARINT, _EIGHT_BYTES, _BLOCK, _GROUP, _GROUP_END, _FOUR_BYTES = range(6)


def check_parts(data: bytes) -> None:
    """Raise for a backup of too many parts. A damaged one passes, because the parser reports it."""
    parts = series = 0
    for number, start, end in _fields(data, 0, len(data)):
        parts += 1
        if number == _SERIES:
            series += 1
            for _ in _fields(data, start, end):
                parts += 1
                if parts > MOST_PARTS:
                    break
        if series > MAX_ROWS:
            raise unusable(f"More than {MAX_ROWS:,} series are too many for one file.")
        if parts > MOST_PARTS:
            raise unusable(f"The backup has more than {MOST_PARTS:,} parts: no library is so large.")


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of each field's content. Stops at the first bytes that are no field."""
    while at < end:
        key, at = _varint(data, at, end)
        kind, start = key & 7, at
        if kind == _BLOCK:
            length, start = _varint(data, at, end)
            at = start + length
        elif kind == _VARINT:
            _, at = _varint(data, at, end)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            at += 8 if kind == _EIGHT_BYTES else 4
        elif kind not in (_GROUP, _GROUP_END):
            return
        if at > end:
            return
        yield key >> 3, start, at


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number and the position after it; that is beyond the end of the data if it is no number."""
    if at < end and data[at] < 128:
        return data[at], at + 1
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    return value, end + 1
