"""Backups whose few bytes would become millions of messages: refused before one is made."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from fascicle.domain.errors import UsageError
from fascicle.imports import protobuf_parts, tachibk
from fascicle.imports.reading import Format, read_import
from fascicle.imports.tachibk import parse_tachibk
from tests.imports.examples import UUID, backup, chapters, manga

BYTES = 400_000


def block(number: int, content: bytes) -> bytes:
    """A field that holds bytes, by its number; lengths as varints."""
    length, head = len(content), bytearray()
    for value in (number << 3 | 2, length):
        while value > 127:
            head.append(value & 127 | 128)
            value >>= 7
        head.append(value)
    return bytes(head) + content


SHAPES: dict[str, Callable[[], bytes]] = {
    "empty series": lambda: block(1, b"") * (BYTES // 2),
    "empty chapters": lambda: block(1, block(16, b"") * (BYTES // 3)),
    "empty chapters of many series": lambda: block(1, block(16, b"") * 6_000) * (BYTES // 18_000),
    "empty trackers": lambda: block(1, block(18, b"") * (BYTES // 3)),
    "empty sources": lambda: block(101, b"") * (BYTES // 3),
    "numbers": lambda: b"\x08\x01" * (BYTES // 2),
    "groups": lambda: b"\x0b\x0c" * (BYTES // 2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_backup_of_millions_of_parts_is_refused_before_it_is_parsed(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> None:
        raise AssertionError("it reached the parser")

    monkeypatch.setattr(tachibk, "backup_type", never)
    monkeypatch.setattr(protobuf_parts, "MOST_PARTS", 100_000)
    with pytest.raises(UsageError, match=r"too many for one file|no library is so large"):
        parse_tachibk(SHAPES[shape]())


def test_a_bomb_of_a_backup_is_refused_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "library.tachibk"
    file.write_bytes(gzip.compress(block(1, block(16, b"") * (protobuf_parts.MOST_PARTS + 1))))
    assert file.stat().st_size < 20_000
    with pytest.raises(UsageError, match="no library is so large"):
        read_import(file, Format.AUTO, lambda _: False)


def test_a_large_library_is_read_whole() -> None:
    series = manga("Long", f"/manga/{UUID}", chapters=chapters(*range(1, 2_000)))
    data = backup(*[series] * 50)
    assert len(parse_tachibk(data).wanted) == 50


@pytest.mark.parametrize(
    "damage", [b"\xff" * 50, b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0a\x7f", b"\x0f"]
)
def test_a_damaged_backup_is_told_by_the_parser(damage: bytes) -> None:
    with pytest.raises(UsageError, match="no Tachiyomi or Mihon backup"):
        parse_tachibk(damage)
