"""X5: what people and records see of an address has no secrets."""

import pytest

from fascicle.domain.errors import UsageError
from fascicle.domain.urls import address_title, parse_http_url, place


@pytest.mark.parametrize(
    ("url", "seen", "title"),
    [
        ("https://feeds.test/mara?auth=secret", "https://feeds.test/mara", "feeds.test/mara"),
        ("https://feeds.test/?auth=secret", "https://feeds.test/", "feeds.test"),
        ("https://feeds.test/a#secret?x", "https://feeds.test/a", "feeds.test/a"),
        ("https://mara:secret@feeds.test:8080/a", "https://feeds.test:8080/a", "feeds.test/a"),
        ("https://mara:sec@ret@feeds.test/@mara", "https://feeds.test/@mara", "feeds.test/@mara"),
        ("https://[feeds.test/?auth=secret", "https://[feeds.test/", "(no title)"),
        ("no address?auth=secret", "no address", "no address"),
    ],
)
def test_x5_an_address_is_shown_without_what_may_be_secret(url: str, seen: str, title: str) -> None:
    assert (place(url), address_title(url)) == (seen, title)


@pytest.mark.parametrize("url", ["ftp://feeds.test/?auth=secret", "https://feeds.test:x/?auth=secret"])
def test_x5_an_address_is_refused_without_its_query(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_http_url(url)
    assert "feeds.test" in refused.value.message
    assert "secret" not in refused.value.message
