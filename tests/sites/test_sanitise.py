"""What people wrote elsewhere, made harmless before it is stored."""

import pytest

from fascicle.domain.plain_text import plain_line
from fascicle.sites.sanitise import sanitised_article


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("A <b>bold</b> word", "A bold word"),
        ("I <3 this, 1 < 2 > 0", "I <3 this, 1 < 2 > 0"),
        ("<scr<b>ipt>alert(1)</scr</b>ipt>", "alert(1)"),
        ("<<b>script>alert(1)", "alert(1)"),
        ("x <img src=y onerror=alert(1)", "x < img src=y onerror=alert(1)"),
        (f"x <img src=y {'a' * 2100}> z", "x z"),
        (f"{'<a' * 8}{'>' * 8} b", "< a< a< a>>> b"),
    ],
)
def test_i6_a_line_has_no_tag_nor_becomes_one(written: str, kept: str) -> None:
    assert plain_line(written) == kept
    assert plain_line(kept) == kept


def test_i6_an_article_keeps_its_pictures_and_nothing_active() -> None:
    written = '<p onclick="x()">a<img src="https://x.test/p" onerror="x()"><script>x()</script></p>'
    assert sanitised_article(f'{written}<a href="javascript:x()">b</a><iframe src="https://y"></iframe>') == (
        '<p>a<img src="https://x.test/p"></p><a rel="noopener noreferrer nofollow">b</a>'
    )
