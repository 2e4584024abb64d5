"""`fascicle extract`: an article on a person's screen, without a stack (R4)."""

import os
from pathlib import Path

import pytest

from tests.sites.press import PARAGRAPHS, TITLE, Press, news_page
from tests.starter.conftest import Desk


def test_r4_a_saved_page(desk: Desk) -> None:
    file = desk.folder / "keeper.html"
    file.write_bytes(news_page(*PARAGRAPHS, title="The [bold]keeper[/x] and the light").encode("utf-16"))
    found = desk.json("extract", str(file), "--url", "https://paper.test/keeper")
    assert set(found) == {
        *("title", "text", "language", "url", "author", "site_name", "published_at", "words", "extractor"),
    }
    assert (found["title"], found["language"]) == ("The [bold]keeper[/x] and the light", "en")
    assert (found["text"], found["url"]) == ("\n".join(PARAGRAPHS), "https://paper.test/keeper")
    assert (found["published_at"], found["extractor"]) == ("2026-11-03T10:00:00Z", "trafilatura")
    shown = desk.fascicle("extract", str(file))
    assert shown.code == 0
    for words in ("The [bold]keeper[/x] and the light", f"words {found['words']}", *PARAGRAPHS):
        assert words in shown.said()
    assert not desk.data.exists(), "nothing is stored"


def test_r4_a_page_by_its_address(desk: Desk) -> None:
    with Press() as press:
        url = press.put("/keeper", news_page())
        blocked = desk.fascicle("extract", url, "--json")
        assert (blocked.code, '"error_code": "blocked_address"' in blocked.out) == (1, True)
        allowed = desk.fascicle("extract", url, "--json", FASCICLE_ALLOW_HOSTS="127.0.0.1").json()
    assert (allowed["title"], allowed["url"]) == (TITLE, url)


@pytest.mark.parametrize(
    ("content", "arguments", "status", "code"),
    [
        (b"%PDF-1.7\n...", (), 1, "unsupported_type"),
        (b"", (), 1, "too_short"),
        (b"<title>404 Not Found</title><h1>Not Found</h1>", (), 1, "error_page"),
        (b"<p>A line.</p>", (), 1, "too_short"),
        (b"<p>A line.</p>", ("--url", "nonsense"), 2, "invalid_url"),
        (None, (), 2, "wrong_usage"),
    ],
    ids=["pdf", "empty", "error page", "short", "no address", "no file"],
)
def test_r4_what_cannot_be_extracted_says_why(
    desk: Desk, content: bytes | None, arguments: tuple[str, ...], status: int, code: str
) -> None:
    file = desk.folder / "page"
    if content is not None:
        file.write_bytes(content)
    refused = desk.fascicle("extract", str(file), *arguments, "--json")
    assert (refused.code, f'"error_code": "{code}"' in refused.out) == (status, True)
    assert '"reason": ' in refused.out
    assert "error: " in refused.err


def test_r4_wrong_usage(desk: Desk, tmp_path: Path) -> None:
    huge = tmp_path / "huge.html"
    huge.touch()
    os.truncate(huge, 200_000_000)
    for arguments in (
        (str(tmp_path),),
        (str(huge),),
        ("file:///etc/passwd",),
        ("https://paper.test/", "--url", "https://paper.test/"),
        (),
    ):
        assert desk.fascicle("extract", *arguments).code == 2
