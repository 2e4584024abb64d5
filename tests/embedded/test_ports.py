import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fascicle.embedded import PortBook, choose_port


@pytest.fixture
def free() -> int:
    return choose_port(0, set())


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_preferred_port_is_kept_when_free(free: int) -> None:
    assert choose_port(free, set()) == free


def test_another_port_when_the_preferred_one_has_a_listener(busy: int) -> None:
    assert choose_port(busy, set()) not in (busy, 0)


def test_another_port_when_the_preferred_one_is_promised_to_somebody(free: int) -> None:
    assert choose_port(free, {free}) != free


def test_book_remembers_the_replacement_of_a_busy_port(tmp_path: Path, busy: int) -> None:
    first = PortBook(tmp_path).choose("temporal", busy)
    assert first != busy
    assert PortBook(tmp_path).choose("temporal", busy) == first


def test_book_gives_way_when_the_wish_changes(tmp_path: Path, busy: int, free: int) -> None:
    PortBook(tmp_path).choose("temporal", busy)
    assert PortBook(tmp_path).choose("temporal", free) == free


def test_book_never_gives_one_port_to_two_names(tmp_path: Path, free: int) -> None:
    book = PortBook(tmp_path)
    assert book.choose("temporal", free) != book.choose("ops", free)


def test_unreadable_book_is_no_obstacle(tmp_path: Path, free: int) -> None:
    (tmp_path / "ports.json").write_text("{half a")
    assert PortBook(tmp_path).choose("temporal", free) == free
