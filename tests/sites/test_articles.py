"""R4: an address becomes a text, or an error that says what is there instead."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator

import pytest

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.summaries.article import Article
from fascicle.net.http import HttpClient, HttpLimits
from fascicle.net.ssrf import HostGuard
from fascicle.sandbox import Sandbox
from fascicle.sites.articles import Articles
from fascicle.sites.articles.reading import read_article
from tests.sites.conftest import OpenGates
from tests.sites.press import PARAGRAPHS, TITLE, Press, news_page

URL = "https://paper.test/2026/keeper?token=secret"
JAPANESE = (
    "むかしむかし、北の島の灯台に、一人の番人が住んでいました。"
    "番人は毎日、沖を通る船の名前を帳面に書きとめました。",
    "ある冬の夜、ひどい嵐が来ました。番人は眠らずに火を守り、三そうの船を助けました。",
    "それから何年もたって、番人は島を去りましたが、帳面だけは今も港で大切にされています。",
)
GERMAN = (
    "Der letzte Wärter des Leuchtturms hat seinen Posten verlassen, nachdem er einunddreißig Jahre lang "
    "jedes Schiff aufgeschrieben hatte, das an den Felsen vorbeifuhr.",
    "Seine Bücher nahm er mit, vierzig Stück, jedes so schwer wie ein Laib Brot. Zweimal hatte das Hafenamt "
    "danach gefragt, und zweimal hatte er geantwortet, sie seien noch nicht fertig.",
)


@pytest.fixture(scope="module")
async def articles(sandbox: Sandbox) -> AsyncIterator[Articles]:
    limits = HttpLimits(max_bytes=500_000)
    http = HttpClient(gates=OpenGates(), guard=HostGuard(["127.0.0.1"]), user_agent="Test/1", limits=limits)
    yield Articles(http, sandbox, gate=GatePolicy(0))
    await http.aclose()


def _read(page: str | bytes, url: str = URL) -> Article:
    return read_article(page.encode() if isinstance(page, str) else page, url=url)


async def _refusal(articles: Articles, url: str) -> FascicleError:
    with pytest.raises(FascicleError) as caught:
        await articles.extract(url)
    return caught.value


async def test_r4_an_article_by_its_address(articles: Articles, press: Press) -> None:
    press.put("/old", status=301, location="/2026/keeper")
    target = press.put("/2026/keeper", news_page())
    found = await articles.extract(f"{press.url}/old")
    assert (found.url, found.title, found.extractor) == (target, TITLE, "trafilatura")
    assert (found.language, found.author, found.site_name) == ("en", "Ilse Brandt", "The Northern Paper")
    assert found.published_at is not None
    assert found.published_at.isoformat() == "2026-11-03T10:00:00+00:00"
    assert found.text == "\n".join(PARAGRAPHS)
    assert found.words == len(found.text.split())
    assert await articles.read(news_page().encode(), target) == found


@pytest.mark.parametrize(
    ("body", "called", "what"),
    [
        (b"", "application/pdf", "a PDF"),
        (b"%PDF-1.7 ...", "text/html", "a PDF"),
        (b"\x89PNG\r\n\x1a\n...", "", "an image"),
        (b"...", "image/webp", "an image"),
        (b"ID3\x04...", "application/octet-stream", "audio"),
        (b"PK\x03\x04...", "text/plain", "an archive"),
        (b'{"title": "x"}', "text/html", "JSON"),
        (b"...", "application/ld+json", "JSON"),
        (b'<?xml version="1.0"?>\n<rss version="2.0">', "text/xml", "a feed"),
        (b"\0\0\0\x18ftypmp42", "", "a video"),
        (b"...", "application/x-thing", "application/x-thing"),
    ],
)
async def test_r4_what_is_no_page_is_named(
    articles: Articles, press: Press, body: bytes, called: str, what: str
) -> None:
    error = await _refusal(articles, press.put("/file", body, kind=called))
    assert isinstance(error, PermanentError)
    assert error.code == "unsupported_type"
    assert what in error.message


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "code"),
    [
        (404, "", {}, PermanentError, "not_found"),
        (410, "", {}, PermanentError, "not_found"),
        (401, "", {}, PermanentError, "auth_failed"),
        (403, "", {}, PermanentError, "blocked"),
        (403, "<title>Just a moment...</title>", {}, PermanentError, "challenge"),
        (429, "", {"retry_after": "7"}, MustWait, "rate_limited"),
        (500, "", {}, RetryableError, "server_error"),
        (200, "x" * 600_000, {}, PermanentError, "too_large"),
        (200, "", {}, PermanentError, "too_short"),
        (200, "<title>Page not found</title><p>Sorry!", {}, PermanentError, "error_page"),
        (200, "<form><input type=password></form><h1>Hello", {}, PermanentError, "login_wall"),
        (200, "<title>App</title><div id=root></div><script src=/app.js></script>", {}, PermanentError,
         "not_an_article"),
        (200, "<div>" * 20_000, {}, PermanentError, "not_an_article"),
        (302, "", {"location": "/gone"}, PermanentError, "too_many_redirects"),
        (302, "", {"location": "http://10.0.0.1/"}, PermanentError, "blocked_address"),
        (302, "", {"location": "file:///etc/passwd"}, PermanentError, "blocked_address"),
    ],
)  # fmt: skip
async def test_r4_what_there_is_instead_of_an_article(
    articles: Articles,
    press: Press,
    status: int,
    body: str,
    headers: dict[str, str],
    kind: type[FascicleError],
    code: str,
) -> None:
    error = await _refusal(articles, press.put("/gone", body, status=status, **headers))
    assert isinstance(error, kind)
    assert error.code == code
    assert isinstance(error, RetryableError) == (kind is not PermanentError)


async def test_r4_addresses_that_are_none(articles: Articles) -> None:
    for url in ("http://10.0.0.1/", "http://[::1]/", "ftp://paper.test/", "nonsense", "http://xn--/"):
        assert isinstance(await _refusal(articles, url), FascicleError)


async def test_x1_a_process_that_ends_harms_no_other_page(articles: Articles, sandbox: Sandbox) -> None:
    await articles.read(news_page().encode(), URL)
    os.kill(sandbox.pids[0], signal.SIGKILL)
    assert (await articles.read(news_page().encode(), URL)).title == TITLE
    both = await asyncio.gather(*(articles.read(news_page().encode(), URL) for _ in range(2)))
    assert both[0] == both[1]


def test_r4_a_page_laid_out_in_tables_in_an_old_encoding() -> None:
    cells = "".join(f"{line}<br><br>" for line in JAPANESE)
    links = "".join(f'<a href="{n}.html">きょうのお話{n}</a><br>' for n in range(12))
    page = (
        f"<html><head><title>灯台の番人</title></head><body><table><tr><td>{links}</td><td>"
        f"<table><tr><td><b>灯台の番人</b></td></tr><tr><td>{cells * 3}</td></tr></table></td></tr></table>"
    )
    declared = page.replace("<head>", '<head><meta charset="Shift_JIS">').encode("shift_jis")
    for body in (declared, page.encode("shift_jis"), page.encode("euc-jp"), page.encode("utf-8")):
        found = _read(body)
        assert (found.title, found.language) == ("灯台の番人", "ja")
        for line in JAPANESE:
            assert line in found.text
        assert "きょうのお話" not in found.text


@pytest.mark.parametrize(
    ("paragraphs", "declared", "language"),
    [
        (PARAGRAPHS, "en-GB", "en"),
        (PARAGRAPHS, "de", "en"),
        (PARAGRAPHS, "", "en"),
        (GERMAN, "de-AT", "de"),
        ((GERMAN[0], *PARAGRAPHS), "", "en"),
        ((PARAGRAPHS[0], *GERMAN), "en", "de"),
    ],
)
def test_r4_the_language_of_most_of_it(paragraphs: tuple[str, ...], declared: str, language: str) -> None:
    assert _read(news_page(*paragraphs, language=declared)).language == language


@pytest.mark.parametrize("element", ["h2", "div", "span"])
def test_r4_a_listing_is_no_article(element: str) -> None:
    teasers = (
        "".join(
            f'<div><{element}><a href="/{n}">Story number {n} of the sea</a></{element}>'
            f"<p>{PARAGRAPHS[n % 4][n:110]}.</p></div>"
            for n in range(12)
        )
        .replace("<span>", "")
        .replace("</span>", "")
    )
    for path in ("", "latest", "search?q=sea"):
        with pytest.raises(PermanentError) as caught:
            _read(
                f"<html><title>The Paper</title><body><main>{teasers}</main>",
                url=f"https://paper.test/{path}",
            )
        assert caught.value.code == "not_an_article"


def test_r4_a_link_farm_is_no_article() -> None:
    links = "".join(f'<li><a href="/{n}">The best offers of house number {n}</a></li>' for n in range(300))
    with pytest.raises(PermanentError) as caught:
        _read(f"<html><title>Offers</title><body><ul>{links}</ul>")
    assert caught.value.code == "not_an_article"


def test_r4_an_article_in_parts_with_lists_and_a_table_keeps_them() -> None:
    page = news_page().replace(
        f"<p>{PARAGRAPHS[2]}</p>",
        "<h2>What changes</h2><p>Three things will be different from the first night of December on:</p>"
        "<ul><li>The lamp is electric.</li><li>The stairs are locked.</li></ul>"
        f"<table><tr><th>Year</th><th>Ships</th></tr><tr><td>2024</td><td>1,204</td></tr></table><p>{PARAGRAPHS[2]}</p>",
    )
    text = _read(page).text
    for words in ("What changes", "The lamp is electric.", "1,204", *PARAGRAPHS[1:]):
        assert words in text


def test_r4_a_program_that_carries_its_article_in_json() -> None:
    script = json.dumps({"@type": "NewsArticle", "headline": TITLE, "articleBody": " ".join(PARAGRAPHS)})
    page = f'<html><body><script type="application/ld+json">{script}</script><div id="root"></div>'
    found = _read(page)
    assert (found.title, found.text) == (TITLE, " ".join(PARAGRAPHS))


def test_r4_a_text_without_markup() -> None:
    assert _read("\n\n".join(PARAGRAPHS)).text == "\n".join(PARAGRAPHS)


def test_r4_a_saved_page_keeps_its_old_label_and_is_read_all_the_same() -> None:
    """Browsers save pages as UTF-8, and leave what the page says of itself."""
    told = "犬が肉をくわえて橋を渡っていると、川の中にもう一匹の犬がいました。" * 12
    page = f'<html><head><meta charset="Shift_JIS"><title>犬</title></head><body><p>{told}</p></body></html>'
    assert "犬が肉をくわえて" in _read(page.encode()).text
    assert "犬が肉をくわえて" in _read(page.encode("shift_jis")).text


def test_r4_pictures_in_attributes_and_repeated_lines_are_part_of_articles() -> None:
    refrain = (
        "And every evening the keeper of the lamp went up the stairs, as his father had done before him."
    )
    others = [
        f"On the {n}th day the wind came from another side, and nobody in the harbour slept."
        for n in range(9)
    ]
    told = [line for other in others for line in (other, refrain)]
    picture = f'<img src="data:image/png;base64,{"A" * 20_000}">'
    page = f"<html><body><article><h1>The Lamp</h1>{picture}{''.join(f'<p>{line}</p>' for line in told)}"
    assert _read(page).text.splitlines().count(refrain) >= 7
