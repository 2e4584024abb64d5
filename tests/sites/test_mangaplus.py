"""MANGA Plus against the simulator (C13)."""

from typing import Any

import pytest

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.sites.base import ChapterSite, Sites, SweepableSite
from simulator.catalogue import series_key
from simulator.faults import Fault
from simulator.series import Series
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec
from tests.sites.listing import every_page, is_complete, uploads


@pytest.fixture
def site(sites: Sites) -> ChapterSite:
    return sites.named("mangaplus")


def key_of(series: Series) -> str:
    return series_key("mangaplus", series)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://mangaplus.shueisha.co.jp/titles/100191", "100191"),
        ("http://mangaplus.shueisha.co.jp/titles/100191/?lang=eng#x", "100191"),
        ("https://mangaplus.shueisha.co.jp/viewer/1000486", None),
        ("https://mangaplus.shueisha.co.jp/titles/abc", None),
        ("https://mangaplus.shueisha.co.jp.evil.example/titles/1", None),
        ("https://evil.example/titles/1", None),
    ],
)
def test_c14_series_urls_are_recognised(site: ChapterSite, url: str, key: str | None) -> None:
    assert site.recognise(url) == key


async def test_c12_the_ends_are_listed_and_nothing_is_concluded_from_the_middle(
    site: ChapterSite, simulator: RunningSimulator
) -> None:
    series = simulator.world.add_series(SeriesSpec(title="Lanterns", chapters=10, sites=("mangaplus",)))
    info = await site.series(key_of(series))
    assert (info.title, info.url) == (
        "Lanterns",
        f"https://mangaplus.shueisha.co.jp/titles/{key_of(series)}",
    )
    pages = await every_page(site, key_of(series), "everything", "en")
    assert [u.number for u in uploads(pages)] == ["001", "002", "003", "008", "009", "010"]
    assert not is_complete(pages)
    newest = uploads(await every_page(site, key_of(series), "newest", "en"))
    assert [u.number for u in newest][:2] == ["010", "009"]
    assert newest[0].published_at == series.uploads[-1].readable_at
    assert not isinstance(site, SweepableSite)


async def test_c5_specials_have_no_number_and_a_title_has_one_language(
    site: ChapterSite, simulator: RunningSimulator
) -> None:
    chapters = (UploadSpec(chapter="7", title="Rain"), UploadSpec(chapter=None, title="Sketches"))
    series = simulator.world.add_series(
        SeriesSpec(title="Faroles", chapters=chapters, languages=("es-la",), sites=("mangaplus",))
    )
    listed = uploads(await every_page(site, key_of(series), "everything", "en"))
    assert [(u.number, u.title) for u in listed] == [("007", "Rain"), ("ex", "Special: Sketches")]
    assert {u.language for u in listed} == {"es-la"}, "following the title is choosing its language"


NOT_FOUND = (
    '{"error":{"popups":[{"subject":"Not Found","body":"b","language":"SPANISH"},{"subject":"Not Found"}]}}'
)


@pytest.mark.parametrize(
    ("fault", "family", "code"),
    [
        ({"kind": "html"}, RetryableError, "bad_answer"),
        ({"status": 200, "body": NOT_FOUND}, PermanentError, "not_found"),
        (
            {"status": 200, "body": '{"error":{"popups":[{"subject":"Later"}]}}'},
            RetryableError,
            "site_error",
        ),
        ({"status": 200, "body": '{"error":{"englishPopup":{"body":"Busy"}}}'}, RetryableError, "site_error"),
        ({"status": 200, "body": '{"error":{}}'}, RetryableError, "site_error"),
        ({"status": 200, "body": '{"success":{}}'}, RetryableError, "bad_answer"),
        ({"status": 200, "body": "[]"}, RetryableError, "bad_answer"),
        ({"status": 429, "retry_after": 3}, MustWait, "rate_limited"),
        ({"status": 500}, RetryableError, "server_error"),
    ],
)
async def test_c9_errors_come_with_any_status(
    site: ChapterSite,
    simulator: RunningSimulator,
    fault: dict[str, Any],
    family: type[FascicleError],
    code: str,
) -> None:
    simulator.faults.add(Fault.model_validate(fault))
    with pytest.raises(family) as failed:
        await site.everything("100191", ["en"], None)
    assert failed.value.code == code


async def test_a_title_that_is_gone_is_not_found(site: ChapterSite) -> None:
    with pytest.raises(PermanentError) as failed:
        await site.series("1")
    assert failed.value.code == "not_found"


async def test_rows_that_are_no_chapters_are_skipped_and_expired_ones_unavailable(
    site: ChapterSite, simulator: RunningSimulator
) -> None:
    body = """{"success":{"titleDetailView":{"title":{"name":"A","language":9},"chapterListGroup":[null,
      {"firstChapterList":[null,{"chapterId":"x"},{"chapterId":1,"name":"#1","startTimeStamp":1e300}],
       "midChapterList":[{"chapterId":2,"name":"#2","subTitle":"Closed"}],
       "lastChapterList":[{"chapterId":3,"name":7,"subTitle":"a\\u0000b","startTimeStamp":1700000000}]}]}}}"""
    simulator.faults.add(Fault(status=200, body=body))
    page = await site.everything("1", ["en"], None)
    assert [(u.upload_id, u.number, u.title, u.unavailable) for u in page.uploads] == [
        ("1", "1", None, True),
        ("3", None, "a b", False),
    ]
    assert page.uploads[0].published_at is None
    assert page.uploads[0].language == "vi"
