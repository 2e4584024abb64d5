"""I3: one address for each page, and a key that no other page has."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fascicle.domain.feeds.canonical_url import canonical_url, provider_id, url_key

VIDEO = "dQw4w9WgXcQ"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org", "https://example.org/"),
        (" HTTPS://Example.ORG/A?b=C ", "https://example.org/A?b=C"),
        ("http://user:secret@example.org/", "http://example.org/"),
        ("http://www.blog.example:443/a", "http://www.blog.example/a"),
        ("https://example.org:80/a", "https://example.org/a"),
        ("https://example.org:8443/a", "https://example.org:8443/a"),
        ("https://example.org./a", "https://example.org/a"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/ü"),
        ("http://[2001:DB8::1]:80/a", "http://[2001:db8::1]/a"),
        ("https://example.org/?p=123&utm_source=rss&UTM_Medium=feed", "https://example.org/?p=123"),
        ("https://example.org/a?b=2&fbclid=x&a=1&gclid=y", "https://example.org/a?b=2&a=1"),
        ("https://example.org/a?at_campaign=x&cmpid=y&mc_cid=z&wt_mc=rss", "https://example.org/a"),
        ("https://medium.example/a?source=rss----123", "https://medium.example/a"),
        ("https://example.org/a?source=7", "https://example.org/a?source=7"),
        ("https://example.org/notes#October_10_2024", "https://example.org/notes#October_10_2024"),
        ("https://example.org/a#", "https://example.org/a"),
        ("https://example.org/#!/a", "https://example.org/#!/a"),
        ("https://www.google.com/amp/s/example.org/a", "https://example.org/a"),
        ("https://example-org.cdn.ampproject.org/c/s/example.org/a", "https://example.org/a"),
        (
            "https://www.google.com/url?q=https%3A%2F%2Fexample.org%2Fa%3Futm_id%3D1&sa=D",
            "https://example.org/a",
        ),
        ("https://l.facebook.com/l.php?u=https%3A%2F%2Fm.example.org%2F&h=x", "https://m.example.org/"),
        ("https://m.youtube.com/redirect?q=https%3A%2F%2Fexample.org%2Fa", "https://example.org/a"),
        ("https://www.google.com/url?q=notaurl", "https://www.google.com/url?q=notaurl"),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
    ],
)
def test_i3_an_address_in_its_canonical_form(url: str, expected: str) -> None:
    assert canonical_url(url) == expected


# Pages for phones, AMP pages, places in pages: what is guessed to be another page may also be one of its own.
FORMS = [
    ("https://example.org/a#part", "example.org/a"),
    ("https://example.org/#!/a", "example.org#!/a"),
    ("https://example.org/2024/a/amp/", "example.org/2024/a"),
    ("https://example.org/electronics/amp", "example.org/electronics"),
    ("https://example.org/amp", "example.org/amp"),
    ("https://example.org/a.amp.html", "example.org/a.html"),
    ("https://example.org/a?amp", "example.org/a"),
    ("https://example.org/a?amp=1&b=2", "example.org/a?b=2"),
    ("https://example.org/a?outputType=amp", "example.org/a"),
    ("https://example.org/a?_amp=true", "example.org/a"),
    ("https://example.org/a?amp=50", "example.org/a?amp=50"),
    ("https://amp.example.org/a", "example.org/a"),
    ("https://m.signalvnoise.com/post", "signalvnoise.com/post"),
    ("https://mobile.example.org:8443/a", "example.org:8443/a"),
    ("https://en.m.wikipedia.org/wiki/A", "en.wikipedia.org/wiki/A"),
    ("https://m.me/a", "m.me/a"),
    ("https://m.co.uk/a", "m.co.uk/a"),
    ("https://mobile.de/a", "mobile.de/a"),
    ("https://m.blogspot.com/a", "m.blogspot.com/a"),
    ("https://a.blogspot.com/a.html?m=1", "a.blogspot.com/a.html"),
]


@pytest.mark.parametrize(("url", "key"), FORMS)
def test_i3_only_the_key_guesses_which_page_a_form_is_of(url: str, key: str) -> None:
    assert canonical_url(url) == url
    assert url_key(url) == key


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "example.org/a",
            "//example.org/a",
            "ftp://example.org/",
            "javascript:alert(1)",
            "mailto:a@b.c",
        ),
        *(
            "https://",
            "https:///a",
            "https://exa mple.org/",
            "https://example.org/a b",
        ),
        *(
            "https://example.org/\x00",
            "https://evil.example\\@example.org/",
            "http://[::1/",
            "http://a:99999/",
        ),
        *("https://-.example/", "https://a..b/", "https://ex%61mple.org/", "https://☃.example/"),
        "https://example.org/" + "a" * 2048,
    ],
)
def test_i3_what_is_no_web_address_has_no_form_and_no_key(url: str) -> None:
    assert canonical_url(url) is None
    assert url_key(url) is None
    assert provider_id(url) is None


@pytest.mark.parametrize(
    "urls",
    [
        ("https://example.org/a", "http://www.example.org/a/", "https://example.org/a?utm_source=x#y"),
        ("https://example.org/", "https://example.org/index.html", "http://example.org/index.php"),
        ("https://example.org/?b=2&a=1", "https://example.org/?a=1&b=2"),
        ("https://example.org/%7eme/%c3%a4", "https://example.org/~me/ä", "https://example.org/%7Eme/%C3%A4"),
        ("https://example.org/?q=a+b", "https://example.org/?q=a%20b"),
        ("http://www.blog.example:443/a", "https://blog.example:443/a"),
        (
            f"https://youtu.be/{VIDEO}?si=x",
            f"https://m.youtube.com/watch?v={VIDEO}&list=PL1&t=5",
            f"https://www.youtube.com/shorts/{VIDEO}",
        ),
    ],
)
def test_i3_the_addresses_of_one_page_share_a_key(urls: tuple[str, ...]) -> None:
    assert len({url_key(url) for url in urls}) == 1
    assert url_key(urls[0])


def test_i3_no_two_pages_share_a_key() -> None:
    urls = [
        *("https://example.org/", "https://example.org/a", "https://example.org/A", "https://example.org/?a"),
        *("https://example.org/?p=1", "https://example.org/?p=2", "https://example.org/?p=1&p=2"),
        *("https://example.org:8080/", "https://blog.example.org/", "https://example.org/#!a"),
        *("https://example.org/a%2Fb", "https://example.org/a/b", "https://example.org/a%26b"),
        *("https://www.com/", "https://m.me/", "https://me/", "https://example.org/?a%26=b"),
        *("https://example.org/" + "a" * 400 + end for end in ("1", "2")),
    ]
    keys = [url_key(url) for url in urls]
    assert None not in keys
    assert len(set(keys)) == len(urls)
    assert all(len(key or "") <= 300 for key in keys)


@pytest.mark.parametrize(
    "url",
    [
        *(f"https://www.youtube.com/watch?v={VIDEO}", f"http://youtube.com/watch?feature=x&v={VIDEO}&t=3s"),
        *(
            f"https://youtu.be/{VIDEO}",
            f"https://youtu.be/{VIDEO}?t=3",
            f"https://m.youtube.com/watch?v={VIDEO}",
        ),
        *(f"https://www.youtube.com/shorts/{VIDEO}", f"https://www.youtube.com/embed/{VIDEO}?rel=0"),
        *(f"https://www.youtube.com/live/{VIDEO}", f"https://music.youtube.com/watch?v={VIDEO}&list=RD"),
        *(f"https://www.youtube-nocookie.com/embed/{VIDEO}", f"https://www.youtube.com/v/{VIDEO}"),
        f"https://www.youtube.com/attribution_link?a=x&u=%2Fwatch%3Fv%3D{VIDEO}",
    ],
)
def test_i3_a_video_by_any_of_its_addresses(url: str) -> None:
    assert provider_id(url) == ("youtube", VIDEO)


@pytest.mark.parametrize(
    "url",
    [
        *("https://www.youtube.com/", "https://www.youtube.com/watch?v=short", "https://youtu.be/"),
        *("https://www.youtube.com/embed/videoseries?list=PL1", f"https://example.org/watch?v={VIDEO}"),
        *("https://www.youtube.com/@handle", "https://www.youtube.com/embed/live_stream?channel=UC1"),
        "https://www.youtube.com/attribution_link?u=%5B",
    ],
)
def test_i3_what_is_no_video(url: str) -> None:
    assert provider_id(url) is None


_PIECES = st.sampled_from(
    [
        *(
            "http://",
            "https://",
            "m.",
            "mobile.",
            "amp.",
            "www.",
            "en.m.wikipedia.org",
            "example.org",
            "co.uk",
        ),
        *(
            "/amp",
            "/amp/",
            ".amp.html",
            "/index.html",
            "?amp=1",
            "?utm_a=b",
            "&p=1",
            "#!",
            "#",
            "/",
            ":80",
            ":81",
        ),
        *(
            "www.google.com/url?q=",
            "www.google.com/amp/s/",
            "x.cdn.ampproject.org/c/",
            "%2F",
            "ü",
            "。",
            "@",
            ".",
        ),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_PIECES | st.text(max_size=3), max_size=10).map("".join))
def test_i3_a_canonical_address_stays_as_it_is(tail: str) -> None:
    once = canonical_url(f"https://{tail}")
    if once is not None:
        assert canonical_url(once) == once
        assert url_key(once) == url_key(f"https://{tail}")
