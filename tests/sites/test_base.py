"""The list of sites: what it says of addresses that no site knows (C13, X7)."""

import pytest

from fascicle.domain.errors import UsageError
from fascicle.sites.base import Sites


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://mangapark.net/title/10953-en-one-piece", "site_closed"),
        ("https://v2.mangapark.net/manga/one-piece", "site_closed"),
        ("https://comicpark.org/title/224189-en-x", "site_closed"),
        ("https://mpark.to/title/1", "site_closed"),
        ("https://notmpark.to/title/1", "unknown_site"),
        ("https://mangapark.net.evil.example/title/1", "unknown_site"),
    ],
)
def test_c13_mangapark_and_its_mirrors_are_closed(sites: Sites, url: str, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        sites.recognise(url)
    assert refused.value.code == code


def test_all_sites_are_named_in_order(sites: Sites) -> None:
    assert [site.name for site in sites] == ["inkpages", "mangadex", "mangaplus", "panelbox", "weebcentral"]
    with pytest.raises(UsageError, match="Known: inkpages, mangadex"):
        sites.named("nowhere")
