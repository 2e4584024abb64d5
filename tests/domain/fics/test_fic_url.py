"""Addresses of fics: what is one fic becomes one address, what is hostile or no fic is refused (F1)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.fic import FicKind, FicRef
from fascicle.domain.fics.fic_url import normal_form

_WORK = "https://archiveofourown.org/works/123"
_SERIES = "https://archiveofourown.org/series/45"
_STORY = "https://www.fanfiction.net/s/77/1/"


@pytest.mark.parametrize(
    ("given", "url", "key"),
    [
        ("archiveofourown.org/works/123", _WORK, "ao3-work-123"),
        ("//archiveofourown.org/works/123", _WORK, "ao3-work-123"),
        ("HTTPS://ArchiveOfOurOwn.ORG/works/123", _WORK, "ao3-work-123"),
        ("htttps://archiveofourown.org./works/123", _WORK, "ao3-work-123"),
        ("https://www.ao3.org//works/00123/?view_full_work=true", _WORK, "ao3-work-123"),
        ("(https://archiveofourown.org/works/123),", _WORK, "ao3-work-123"),
        ("<https://archiveofourown.org/works/123/chapters/9>.", _WORK, "ao3-work-123"),
        ("\u200bhttps://archiveofourown.net/works/123/comments/88\n", _WORK, "ao3-work-123"),
        ("https://archiveofourown.org/collections/a_b/works/123/navigate", _WORK, "ao3-work-123"),
        ("https://download.archiveofourown.org/downloads/123/T.epub?updated_at=1", _WORK, "ao3-work-123"),
        ("https://archiveofourown.org/works/123?from=https://other.example/", _WORK, "ao3-work-123"),
        ("https://archiveofourown.gay/series/045/bookmarks#x", _SERIES, "ao3-series-45"),
        ("m.fanfiction.net/s/77", _STORY, "ffn-work-77"),
        ("https://www.fanfiction.net/s/77/12/Ein-Märchen", _STORY, "ffn-work-77"),
        ("https://m.fictionpress.com/s/8/2/", "https://www.fictionpress.com/s/8/1/", "fictionpress-work-8"),
        ("https://wattpad.com/story/5-ชื่อ/parts", "https://www.wattpad.com/story/5", "wattpad-work-5"),
        ("https://m.wattpad.com/6-a/page/2", "https://www.wattpad.com/6", "wattpad-needs_lookup-6"),
        (
            "https://forums.spacebattles.com/threads/a-title.v2.31/page-4#post-9",
            "https://forums.spacebattles.com/threads/31/",
            "spacebattles-work-31",
        ),
        (
            "https://forums.sufficientvelocity.com/threads/31/reader/",
            "https://forums.sufficientvelocity.com/threads/31/",
            "sufficientvelocity-work-31",
        ),
        (
            "https://www.royalroadl.com/fiction/9/a/chapter/2/b",
            "https://www.royalroad.com/fiction/9",
            "royalroad-work-9",
        ),
    ],
)
def test_f1_addresses_of_one_fic_have_one_normal_form(given: str, url: str, key: str) -> None:
    ref = normal_form(given)
    assert (ref.url, ref.key) == (url, key)


@pytest.mark.parametrize(
    ("given", "code", "reason"),
    [
        ("", "invalid_url", "empty"),
        ("<>", "invalid_url", "empty"),
        ("https://archiveofourown.org/works/1?" + "x" * 2048, "invalid_url", "longer than 2048"),
        ("x" * 1_000_000, "invalid_url", "longer than 2048"),
        ("https://archiveofourown.org/works/1 2", "invalid_url", "blanks"),
        ("https://archiveofourown.org/works/1\x002", "invalid_url", "control"),
        ("https://archiveofourown.org/works/\ud8001", "invalid_url", "control"),
        ("https://archiveofourown.org\\@evil.example/works/1", "invalid_url", "backslash"),
        ("ftp://archiveofourown.org/works/1", "invalid_url", "https://"),
        ("javascript:alert(1)", "invalid_url", "port"),
        ("https://user:pw@archiveofourown.org/works/1", "invalid_url", "user name"),
        ("archiveofourown.org:443/works/1", "invalid_url", "port"),
        ("https://[::1]/works/1", "invalid_url", "IP address"),
        ("https://[oops/works/1", "invalid_url", "malformed"),
        ("https://127.0.0.1/works/1", "invalid_url", "not a site's name"),
        ("https://0x7f.0x1/works/1", "invalid_url", "not a site's name"),
        ("https://localhost/works/1", "invalid_url", "not a site's name"),
        ("12345", "invalid_url", "not a site's name"),
        ("https://archiveofourown%2eorg/works/1", "invalid_url", "not a site's name"),
        ("https://аrchiveofourown.org/works/1", "invalid_url", "only look like"),
        ("https://archiveofourown。org/works/1", "invalid_url", "only look like"),
        ("https://xn--rchiveofourown-2eh.org/works/1", "unknown_site", "not a site"),
        ("https://archiveofourown.org.evil.example/works/1", "unknown_site", "evil.example"),
        ("https://evilarchiveofourown.org/works/1", "unknown_site", "not a site"),
        ("https://evil.example/archiveofourown.org/works/1", "unknown_site", "evil.example"),
        ("https://evil.example/https://archiveofourown.org/works/1", "invalid_url", "second one"),
        ("https://archiveofourown.org/works/1/https://evil.example/", "invalid_url", "second one"),
        ("https://archiveofourown.org/works/1/../../users/x", "invalid_url", "`..`"),
        ("https://archiveofourown.org/works/1/.%2E/2", "invalid_url", "`..`"),
        ("https://www.royalroad.com/fiction/1/%2e%2e", "invalid_url", "`..`"),
        ("https://archiveofourown.org/works/1234567890123", "invalid_url", "No fic has such a number"),
        ("https://archiveofourown.org/works/" + "9" * 1500, "invalid_url", "No fic has such a number"),
        ("https://archiveofourown.org/works/000", "invalid_url", "No fic has such a number"),
        ("https://archiveofourown.org/works/١٢٣", "not_a_fic", "archiveofourown.org/works/123"),
        ("https://archiveofourown.org/works/-1", "not_a_fic", "not a fic"),
        ("https://archiveofourown.org/works/12a", "not_a_fic", "not a fic"),
        ("https://archiveofourown.org/works", "not_a_fic", "not a fic"),
        ("https://archiveofourown.org/", "not_a_fic", "not a fic"),
        ("https://archiveofourown.org/chapters/123", "not_a_fic", "work's address"),
        ("https://archiveofourown.org/external_works/123", "not_a_fic", "elsewhere"),
        ("https://archiveofourown.org/users/works/123", "not_a_fic", "person"),
        ("https://archiveofourown.org/users/login?return_to=/works/1", "not_a_fic", "person"),
        ("https://archiveofourown.org/works%2F123", "not_a_fic", "not a fic"),
        ("https://www.fanfiction.net/u/1/Someone", "not_a_fic", "/s/123/1/"),
        ("https://forums.spacebattles.com/posts/77/", "not_a_fic", "thread's address"),
        ("https://www.royalroad.com/fiction/chapter/5", "not_a_fic", "fiction's address"),
        ("https://www.wattpad.com/list/5-x", "not_a_fic", "/story/123"),
    ],
)
def test_f1_what_is_hostile_or_no_fic_is_refused_with_a_reason(given: str, code: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        normal_form(given)
    assert refused.value.code == code
    assert reason in refused.value.message


@pytest.mark.parametrize("known", [True, False])
def test_f1_others_are_asked_about_unknown_hosts_only(known: bool) -> None:
    asked: list[str] = []
    ref = FicRef(site="tiny", kind=FicKind.WORK, id="3", url="https://tiny.example/read?sid=3")

    def others(url: str) -> FicRef | None:
        asked.append(url)
        return ref if known else None

    assert _outcome("https://archiveofourown.org/tags/x", others) == "not_a_fic"
    assert asked == []
    assert _outcome("<http://Tiny.example/read?sid=3&c=2#top>", others) == (ref if known else "unknown_site")
    assert asked == ["https://tiny.example/read?sid=3&c=2"]


def _outcome(text: str, others: Callable[[str], FicRef | None] | None = None) -> FicRef | str:
    try:
        return normal_form(text, others)
    except UsageError as error:
        return error.code


_PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *(
                    "https://",
                    "htps:/",
                    "<",
                    ">",
                    "//",
                    "/",
                    "?",
                    "#",
                    "##",
                    "@",
                    ":",
                    "%2F",
                    ".",
                    "-",
                    "[",
                    "0",
                ),
                *("archiveofourown.org", "www.ao3.org", "m.wattpad.com", "fanfiction.net", "royalroad.com"),
                *("forums.spacebattles.com", "works/", "series/", "threads/", "story/", "s/", "chapters/"),
                *("fiction/", "downloads/", "collections/"),
            ]
        ),
        st.integers(0, 10**14).map(str),
        st.text(max_size=4),
    ),
    max_size=9,
).map("".join)


@given(st.one_of(_PIECES, st.text()))
def test_f1_any_text_is_a_usage_error_or_its_normal_form_is_stable(text: str) -> None:
    found = _outcome(text)
    if isinstance(found, FicRef):
        assert normal_form(found.url) == found
