"""Which addresses are asked through oEmbed, where, and what the answers yield (I5)."""

import pytest

from fascicle.domain.errors import RetryableError
from fascicle.sites.pages.oembed import oembed_address, parse_oembed, service_of, services

BASES = {
    "youtube": "http://127.0.0.1:9/youtube",
    "spotify": "http://127.0.0.1:9/spotify",
    "soundcloud": "https://soundcloud.com",
}


@pytest.mark.parametrize(
    ("url", "service"),
    [
        ("https://www.youtube.com/watch?v=abc&t=1", "youtube"),
        ("https://youtu.be/abc", "youtube"),
        ("https://m.youtube.com/shorts/a-b_c", "youtube"),
        ("http://127.0.0.1:9/youtube/watch?v=abc", "youtube"),
        ("https://www.youtube.com/@someone", None),
        ("https://open.spotify.com/episode/4rOoJ6Egrf8K2IrywzwOMk?si=x", "spotify"),
        ("http://127.0.0.1:9/spotify/show/4rOo", "spotify"),
        ("https://soundcloud.com/artist/sound-1", "soundcloud"),
        ("https://soundcloud.com/artist", None),
        ("http://127.0.0.1:9/feeds/watch?v=abc", None),
        ("https://youtube.com.evil.test/watch?v=abc", None),
        ("https://blog.test/watch", None),
        ("http://[no address", None),
    ],
)
def test_i5_a_service_is_known_at_its_own_and_at_the_configured_address(
    url: str, service: str | None
) -> None:
    found = service_of(url, services(**BASES))
    assert (found.name if found else None) == service


def test_i5_the_service_is_asked_where_the_settings_say() -> None:
    asked = oembed_address("https://youtu.be/a?t=1&x=2", **BASES)
    assert (
        asked
        == "http://127.0.0.1:9/youtube/oembed?format=json&url=https%3A%2F%2Fyoutu.be%2Fa%3Ft%3D1%26x%3D2"
    )
    assert oembed_address("https://blog.test/1", **BASES) is None
    spotify = services(**BASES)[1]
    assert spotify.rebased("https://open.spotify.com/show/4?si=x") == "http://127.0.0.1:9/spotify/show/4?si=x"
    assert spotify.rebased("http://127.0.0.1:9/spotify/show/4") == "http://127.0.0.1:9/spotify/show/4"


def test_i5_an_answer_is_taken_with_care() -> None:
    body = b"""{"type": "video", "title": "Waves <i>live</i>", "author_name": 5, "provider_name": "YouTube",
      "thumbnail_url": "https://i.ytimg.test/1.jpg", "duration": 253, "html": "<iframe src=x></iframe>"}"""
    assert parse_oembed(body, url="https://x.test/oembed").model_dump(exclude_none=True) == {
        "type": "video",
        "title": "Waves live",
        "site_name": "YouTube",
        "image_url": "https://i.ytimg.test/1.jpg",
        "duration_seconds": 253,
    }
    for bad in (b"<html>", b"[1]", b'{"title": "' + b"x" * 300_000 + b'"}'):
        with pytest.raises(RetryableError, match="no oEmbed"):
            parse_oembed(bad, url="https://x.test/oembed")
