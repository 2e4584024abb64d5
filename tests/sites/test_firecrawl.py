"""R4: Firecrawl's answers, its own failures and those of the pages it fetched."""

import json
from typing import Any

import pytest
from pydantic import SecretStr

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.domain.gate import GatePolicy
from fascicle.net.http import HttpClient
from fascicle.sandbox import Sandbox
from fascicle.settings.settings import load_settings
from fascicle.sites.articles import Articles, Firecrawl
from fascicle.sites.articles.markdown import plain_lines
from fascicle.sites.articles.markup import Links
from tests.sites.press import PARAGRAPHS, TITLE, Press

KEY = "fc-0123456789abcdef"
SCRAPE = "/v2/scrape"
MARKDOWN = f"""# {TITLE}

![The light](https://paper.test/light.png "The light")

{PARAGRAPHS[0]}

## The *forty* books

{PARAGRAPHS[1].replace("forty of them", "[forty of them](https://paper.test/books_(old))")}

> {PARAGRAPHS[2]}

Related: [The island that moved](/9)

- [Ten harbours that you have never seen](/1)
- [Why the ferry is always late](/2)
"""


@pytest.fixture(scope="module")
def articles(shared_press: Press, http: HttpClient, sandbox: Sandbox) -> Articles:
    firecrawl = Firecrawl(
        http, pages=http, base_url=f"{shared_press.url}/v2/", api_key=SecretStr(KEY), timeout_seconds=9
    )
    return Articles(http, sandbox, gate=GatePolicy(0), firecrawl=firecrawl)


def _says(press: Press, said: Any, *, status: int = 200, **headers: str) -> str:
    """What Firecrawl answers from now on; the address of a page that it is asked for."""
    press.put(SCRAPE, json.dumps(said), status=status, kind="application/json", **headers)
    return f"{press.url}/keeper"


def _page(markdown: str = MARKDOWN, **metadata: Any) -> dict[str, Any]:
    return {"success": True, "data": {"markdown": markdown, "metadata": {"statusCode": 200, **metadata}}}


async def _refusal(articles: Articles, url: str) -> FascicleError:
    with pytest.raises(FascicleError) as caught:
        await articles.extract(url)
    assert KEY not in caught.value.message
    return caught.value


async def test_r4_markdown_becomes_plain_text(articles: Articles, press: Press) -> None:
    metadata: dict[str, Any] = {
        "title": [TITLE, "again"],
        "language": "en-GB",
        "ogSiteName": "The Northern Paper",
        "publishedTime": "2026-11-03T10:00:00Z",
        "sourceURL": f"{press.url}/keeper",
        "url": f"{press.url}/2026/keeper",
    }
    url = _says(press, _page(**metadata))
    found = await articles.extract(url)
    assert found.text.splitlines() == [PARAGRAPHS[0], "The forty books", PARAGRAPHS[1], PARAGRAPHS[2]]
    assert (found.title, found.language, found.extractor) == (TITLE, "en", "firecrawl")
    assert (found.url, found.site_name) == (f"{press.url}/2026/keeper", "The Northern Paper")
    [(path, headers, sent)] = press.asked
    assert (path, headers["Authorization"]) == (SCRAPE, f"Bearer {KEY}")
    assert sent == {
        "url": url,
        "formats": ["markdown"],
        "onlyMainContent": True,
        "maxAge": 0,
        "parsers": [],
        "timeout": 9000,
    }


@pytest.mark.parametrize(
    ("said", "status", "kind", "code"),
    [
        (_page(statusCode=404), 200, PermanentError, "not_found"),
        (_page(statusCode=403), 200, PermanentError, "blocked"),
        (_page(statusCode=401), 200, PermanentError, "auth_failed"),
        (_page(statusCode=500), 200, RetryableError, "server_error"),
        (_page(statusCode=429), 200, MustWait, "rate_limited"),
        (_page("Too short."), 200, PermanentError, "too_short"),
        (_page("Page not found", title="404"), 200, PermanentError, "error_page"),
        (_page(url="http://10.0.0.1/admin"), 200, PermanentError, "blocked_address"),
        ({"success": True, "data": {}}, 200, RetryableError, "bad_answer"),
        ({"success": False, "error": "x", "code": "SCRAPE_TIMEOUT"}, 200, RetryableError, "timeout"),
        ({"success": False, "error": "x"}, 200, RetryableError, "server_error"),
        ({"success": False, "code": "SCRAPE_UNSUPPORTED_FILE_ERROR"}, 200, PermanentError,
         "unsupported_type"),
        ({"success": False, "error": f"bad key {KEY}", "code": "UNAUTHORIZED"}, 200, PermanentError,
         "firecrawl_refused"),
        ([], 200, RetryableError, "server_error"),
        ({"success": False, "error": "Bad Request"}, 400, PermanentError, "firecrawl_refused"),
        ({"error": f"Unauthorized: {KEY}"}, 401, PermanentError, "firecrawl_refused"),
        ({"error": "Payment required"}, 402, PermanentError, "firecrawl_credits"),
        ({"error": "no"}, 403, PermanentError, "firecrawl_refused"),
        ({"error": "slow"}, 408, RetryableError, "timeout"),
        ({"error": "many"}, 429, MustWait, "rate_limited"),
        ({"error": "down"}, 502, RetryableError, "server_error"),
    ],
)  # fmt: skip
async def test_r5_failures_of_firecrawl_and_of_the_page(
    articles: Articles, press: Press, said: Any, status: int, kind: type[FascicleError], code: str
) -> None:
    error = await _refusal(articles, _says(press, said, status=status))
    assert (error.code, error.retryable) == (code, kind is not PermanentError)
    assert isinstance(error, kind)


async def test_r5_garbage_is_retried_and_retry_after_obeyed(articles: Articles, press: Press) -> None:
    for status in (429, 503):
        error = await _refusal(articles, _says(press, {}, status=status, retry_after="17"))
        assert isinstance(error, MustWait)
        assert error.seconds == 17
    press.put(SCRAPE, "<html>", status=200)
    assert (await _refusal(articles, f"{press.url}/keeper")).code == "bad_answer"


async def test_x4_a_private_address_is_not_handed_over(articles: Articles, press: Press) -> None:
    _says(press, _page())
    for url in (
        "http://10.0.0.1/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/",
        "http://localhost/",
    ):
        assert (await _refusal(articles, url)).code == "blocked_address"
    for url in ("ftp://paper.test/", "nonsense", "http://2130706433/", "http://me:secret@paper.test/"):
        refused = await _refusal(articles, url)
        assert (refused.code, "secret" in refused.message) == ("blocked_address", False)
    assert press.asked == []


def test_o8_a_key_that_would_break_a_header_is_refused_unseen() -> None:
    with pytest.raises(UsageError) as caught:
        load_settings(firecrawl_api_key=f"{KEY}\nX-More: 1")
    assert "FASCICLE_FIRECRAWL_API_KEY" in caught.value.message
    assert KEY not in caught.value.message


def test_r4_markdown_line_by_line() -> None:
    markdown = """Two lines\nof a paragraph with `code` and **bold _words_**.\n\n1. First
2. [Second](x "t")

| Year | Ships |\n| --- | :-: |\n| 2024 | 1,204 |\n\n---\n\n```python\na = [1](2)
```

[![](a.png)](b)
<https://x.test>
Snake_case_stays and 2 * 3 * 4 = 24 \\[sic\\] &amp; so on."""
    assert plain_lines(markdown, Links()) == [
        "Two lines of a paragraph with code and bold words.",
        "1. First",
        "2. Second",
        "Year | Ships",
        "2024 | 1,204",
        "a = 1",
        "Snake_case_stays and 2 * 3 * 4 = 24 [sic] & so on.",
    ]
