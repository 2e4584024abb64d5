"""Pages that would take the parser minutes are refused before it sees them."""

import pytest

from fascicle.domain.errors import RetryableError
from fascicle.domain.plain_text import plain_line
from fascicle.sites.markup import tree_of
from fascicle.sites.markup_guards import would_take_minutes


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


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"<img src='data:image/png;base64," + b"A" * 300_000 + b"'>", False, id="a picture"),
        pytest.param(b"<script>if (a<b) " + b"x " * 300_000 + b"</script>", False, id="a program"),
        pytest.param(b"<!-- <p " + b"a " * 9_000 + b" -->", False, id="a comment"),
        pytest.param(b"<li><a href='/1'>one</a><br></li>" * 30_000, False, id="a long list"),
        pytest.param(b"<p " + b"".join(b"a%d=1 " % n for n in range(9_000)) + b">", True, id="attributes"),
        pytest.param(
            b"<p " + b"".join(b'a%d=">" ' % n for n in range(9_000)) + b">", True, id="behind quotes"
        ),
        pytest.param(
            b"<p " + b"".join(b"a%d<b " % n for n in range(9_000)) + b">", True, id="named like tags"
        ),
        pytest.param(b"<div>" * 20_000, True, id="deep"),
    ],
)
def test_x7_pages_of_anybody_are_judged_by_their_tags(body: bytes, expected: bool) -> None:
    assert would_take_minutes(body) is expected
