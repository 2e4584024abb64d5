"""Other people's words in Temporal's UI, which reads Markdown and takes 400 bytes."""

import pytest

from fascicle.domain.harmless_text import for_web_ui


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Lanterns 4", "Lanterns 4"),
        ("**x** <img src=y>\n# head", "\\*\\*x\\*\\* \\<\u200bimg src=y\\> \\# head"),
        ("[a](javascript:b)", "\\[a\\]\u200b\\(javascript:b\\)"),
    ],
)
def test_a_title_is_one_line_of_plain_text(text: str, shown: str) -> None:
    assert for_web_ui(text) == shown


@pytest.mark.parametrize("character", ["a", "ü", "漢", "*", "@", "😀"])
def test_a_summary_fits_whatever_the_title(character: str) -> None:
    assert 300 < len(for_web_ui(character * 1000).encode()) <= 380
