"""Pages that would take the parser minutes are refused before it sees them."""

import pytest

from fascicle.domain.errors import RetryableError
from fascicle.sites.markup import tree_of
from fascicle.sites.sanitise import plain_line


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<div>" * 400_000, id="deep"),
        pytest.param(b"<p " + b"a=1 " * 500_000 + b">", id="a tag without end"),
    ],
)
def test_x7_what_would_take_minutes_is_refused(body: bytes) -> None:
    with pytest.raises(RetryableError, match="answered what is no page"):
        tree_of(body, "example.org")


def test_large_ordinary_pages_are_read() -> None:
    rows = b"".join(b"<li><a href='/c/%d'>Chapter %d</a><br></li>" % (n, n) for n in range(30_000))
    assert len(tree_of(b"<ul>" + rows + b"</ul>", "example.org").css("a")) == 30_000


@pytest.mark.parametrize("beginning", ["<!--", "<a ", "</", "<"])
def test_x7_a_line_of_beginnings_does_not_take_hours(beginning: str) -> None:
    assert len(plain_line(beginning * 500_000)) <= 1000


def test_a_line_has_no_markup() -> None:
    assert plain_line("A <b>bold</b><!-- aside\n--> <3 line\0") == "A bold <3 line"
