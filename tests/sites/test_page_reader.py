"""Pages read in a process of their own (I5)."""

from typing import Any

import pytest

from fascicle.domain.errors import RetryableError
from fascicle.domain.gate import GatePolicy
from fascicle.net.http import HttpClient
from fascicle.sandbox import Sandbox
from fascicle.sites.pages import Page, Pages

_ARTICLE = "The lamp was lit before anybody came home that evening, and nobody knew by whom it was done."
_HTML = f"""<html><head><title>A title</title><meta property="og:image" content="/a.png"></head>
<body><main><article><h1>A title</h1>{"".join(f"<p>{n}. {_ARTICLE}</p>" for n in range(8))}</article></main>
</body></html>"""


@pytest.fixture
def pages(http: HttpClient, sandbox: Sandbox) -> Pages:
    return Pages(
        http,
        sandbox,
        gate=GatePolicy(floor=0),
        youtube="https://y.test",
        spotify="https://s.test",
        soundcloud="",
    )


def _page(body: str, content_type: str | None = "text/html; charset=utf-8") -> Page:
    return Page("https://blog.test/1", content_type, body.encode())


_WANTED: dict[str, Any] = {"with_text": True, "declared_language": None, "feed_text": ""}


async def test_i5_a_page_is_read_once_for_all_that_is_wanted_of_it(pages: Pages) -> None:
    read = await pages.read(_page(_HTML), **_WANTED)
    assert read.metadata is not None
    assert (read.metadata.title, read.metadata.image_url) == ("A title", "https://blog.test/a.png")
    assert _ARTICLE in read.text
    assert read.language == "en"
    assert not read.errors
    sparing = await pages.read(_page(_HTML), **{**_WANTED, "with_text": False, "declared_language": "fr"})
    assert (sparing.metadata, sparing.text, sparing.language) == (read.metadata, "", None)


async def test_i5_without_a_page_the_feeds_words_tell_the_language(pages: Pages) -> None:
    read = await pages.read(None, with_text=True, declared_language=None, feed_text=f"{_ARTICLE} {_ARTICLE}")
    assert (read.metadata, read.text, read.language) == (None, "", "en")


async def test_i5_garbage_is_an_error_that_may_pass_and_costs_no_process(pages: Pages) -> None:
    for _ in range(2):
        with pytest.raises(RetryableError) as garbage:
            await pages.read(_page("<div>" * 20_000), **_WANTED)
        assert garbage.value.code == "bad_answer"
    assert (await pages.read(_page(_HTML), **_WANTED)).metadata is not None
