"""Every kind of answer of the archive by its own name (F9)."""

import time

import pytest

from fascicle.domain.errors import FascicleError, RetryableError
from fascicle.domain.fics.fic import FicKind, FicRef
from fascicle.sites.ao3 import read_page
from tests.sites.ao3_pages import blurb, error_page, page, series_page, work_page

WORK = FicRef(site="ao3", kind=FicKind.WORK, id="12", url="https://archiveofourown.org/works/12")
_LOCKED = '<div id="signin"><h3>Sorry!</h3><div id="loginform"></div></div>'
_ADULT = f'<p class="caution">Adult?</p><ol class="work index group">{blurb("12")}</ol>'
_SECRET = '<p class="notice">This work is part of a challenge and will be revealed soon!</p>'


def _text(title: str, body: str = "") -> bytes:
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>".encode()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(error_page("403", "Access blocked."), "blocked", id="403"),
        pytest.param(error_page("404"), "not_found", id="404"),
        pytest.param(error_page("429", "Too Many Requests"), "rate_limited", id="429"),
        pytest.param(error_page("445"), "transient", id="445"),
        pytest.param(error_page("500"), "transient", id="500"),
        pytest.param(error_page("502"), "transient", id="502"),
        pytest.param(error_page("503"), "transient", id="503"),
        pytest.param(error_page("503-maintenance"), "transient", id="maintenance"),
        pytest.param(error_page("507"), "blocked", id="507"),
        pytest.param(page("", "system errors error-timeout_error region"), "transient", id="timeout"),
        pytest.param(
            page('<h2 class="heading">Error 404</h2>', "system errors region"), "not_found", id="heading"
        ),
        pytest.param(error_page("422"), "parser_broken", id="422"),
        pytest.param(page("", "system errors error-strange region"), "parser_broken", id="strange"),
        pytest.param(page(_LOCKED, "sessions-new system session region"), "login_required", id="locked"),
        pytest.param(page(_ADULT), "adult_gate", id="adult"),
        pytest.param(
            page(_SECRET, "chapters-show region", "Mystery Work | AO3"), "unrevealed", id="unrevealed"
        ),
        pytest.param(page("<ol></ol>", "works-navigate region"), "parser_broken", id="navigate"),
        pytest.param(page("", "tags-show region"), "parser_broken", id="tag"),
        pytest.param(_text("Just a moment..."), "challenge", id="moment"),
        pytest.param(_text("Un momento", "<script>window._cf_chl_opt={}</script>"), "challenge", id="cf_chl"),
        pytest.param(_text("", '<form class="cf-chl-form"></form>'), "challenge", id="cf-chl"),
        pytest.param(
            _text("", '<script src="/cdn-cgi/challenge-platform/x"></script>'), "challenge", id="platform"
        ),
        pytest.param(_text("Attention Required! | Cloudflare"), "blocked", id="cloudflare-block"),
        pytest.param(_text("Access denied", "Error 1015"), "rate_limited", id="cloudflare-1015"),
        pytest.param(_text("archiveofourown.org | 525: SSL handshake failed"), "transient", id="525"),
        pytest.param(_text("502 Bad Gateway"), "transient", id="proxy"),
        pytest.param(_text("Down for maintenance"), "transient", id="plain-maintenance"),
        pytest.param(b"error code: 522", "transient", id="bare-522"),
        pytest.param(b"Retry later\n", "rate_limited", id="retry-later"),
        pytest.param(b"", "parser_broken", id="empty"),
        pytest.param(b"\xff\xfe\x00\x01", "parser_broken", id="bytes"),
        pytest.param(_text("Welcome", "hello"), "parser_broken", id="foreign"),
    ],
)
def test_f9_a_saved_page_says_what_it_is(body: bytes, code: str) -> None:
    assert _code(body) == code


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "login_required"),
        (403, "blocked"),
        (404, "not_found"),
        (410, "not_found"),
        (418, "parser_broken"),
        (429, "rate_limited"),
        (445, "transient"),
        (502, "transient"),
        (503, "transient"),
        (520, "transient"),
        (525, "transient"),
        (526, "transient"),
    ],
)
@pytest.mark.parametrize("body", [b"", _text("", "hello"), page("", "home-index region")])
def test_f9_the_status_decides_where_the_page_says_nothing(body: bytes, status: int, code: str) -> None:
    assert _code(body, status=status) == code


def test_f9_the_page_is_believed_before_its_status() -> None:
    assert _code(_text("Just a moment..."), status=403) == "challenge"
    assert _code(b"Retry later", status=403) == "rate_limited"
    assert _code(b"", status=503, headers={"CF-Mitigated": "challenge"}) == "challenge"


def test_f9_what_may_pass_by_itself_is_retryable_and_knows_its_status() -> None:
    with pytest.raises(RetryableError) as raised:
        read_page(error_page("503"), WORK)
    assert raised.value.http_status == 503


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (work_page("13"), "it is about work 13, not about 12"),
        (series_page(), "it is a series, but a work was asked for"),
        (work_page(title=""), "no title"),
        (work_page(byline=""), "no author"),
        (work_page(chapters="many"), "chapters is missing"),
        (work_page().replace(b'dd class="fandom', b'dd class="fandoms'), "changed its pages"),
        (work_page().replace(b'h2 class="title', b'h2 class="headline'), "changed its pages"),
        (work_page().replace(b"12", b""), "which work"),
        (work_page(story="Just a moment!").replace(b'id="main"', b'id="hall"'), "main part is missing"),
    ],
)
def test_f9_a_page_that_is_not_understood_yields_nothing(body: bytes, says: str) -> None:
    with pytest.raises(FascicleError, match=says) as raised:
        read_page(body, WORK)
    assert raised.value.code == "parser_broken"


@pytest.mark.parametrize(
    "garbage",
    [
        b"<div>",
        b"<font></p>",
        b"<a href=x>",
        b"<",
        b"\x00\xff",
        b"<table><td>",
        b"<!--",
        b"<title>&lt;!--",
        b"<div id=main class='",
    ],
)
def test_f9_twenty_megabytes_of_garbage_are_refused_soon(garbage: bytes) -> None:
    started = time.process_time()
    assert _code(garbage * (20_000_000 // len(garbage))) == "parser_broken"
    assert time.process_time() - started < 5


def test_f9_a_tag_of_endless_attributes_is_refused() -> None:
    assert _code(b"<div " + b"".join(b"a%d=1 " % n for n in range(100_000)) + b">") == "parser_broken"


def test_f9_a_very_long_story_is_no_garbage() -> None:
    body = work_page(story="<p>Line.<br>Line.<br></p>" * 200_000)
    assert read_page(body, WORK).title == "The Tea House"


def _code(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> str:
    with pytest.raises(FascicleError) as raised:
        read_page(body, WORK, status=status, headers=headers or {})
    return raised.value.code
