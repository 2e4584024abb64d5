"""MangaDex against the simulator."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.domain.series.chapter import ListingPage, Upload
from fascicle.net.http import HttpClient, HttpLimits
from fascicle.net.ssrf import HostGuard
from fascicle.sites import mangadex
from fascicle.sites.base import Sites
from fascicle.sites.mangadex import MangaDex
from fascicle.storage.database import open_engine
from fascicle.storage.operations.gate import Gates
from simulator.faults import Fault
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec

ID = "a96676e5-8ae2-425e-b549-7f15dd34a6d8"


@pytest.fixture
async def site(database_url: str, simulator: RunningSimulator) -> AsyncIterator[MangaDex]:
    engine = open_engine(database_url)
    http = HttpClient(
        gates=Gates(engine), guard=HostGuard(["127.0.0.1"]), user_agent="Test/1", limits=HttpLimits()
    )
    yield MangaDex(http, base_url=simulator.mangadex_url, interval_seconds=0)
    await http.aclose()
    await engine.dispose()


@pytest.mark.parametrize(
    "url",
    [
        f"https://mangadex.org/title/{ID}",
        f"https://mangadex.org/title/{ID}/some-slug",
        f"https://www.mangadex.org/title/{ID}/some-slug?tab=chapters#x",
        f"http://mangadex.org/manga/{ID.upper()}",
        f"https://api.mangadex.org/manga/{ID}",
        f"  https://mangadex.org/title/{ID}  ",
    ],
)
async def test_c14_series_urls_are_recognised(site: MangaDex, url: str) -> None:
    assert site.recognise(url) == ID


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://mangadex.org/chapter/" + ID, "unknown_site"),
        ("https://mangadex.org/title/not-a-uuid", "unknown_site"),
        (f"https://mangadex.org.evil.example/title/{ID}", "unknown_site"),
        (f"https://evil.example/mangadex.org/title/{ID}", "unknown_site"),
        ("https://mangapark.net/title/123", "site_closed"),
        (f"http://127.0.0.1/title/{ID}", "blocked_address"),
        (f"http://[::1]/title/{ID}", "blocked_address"),
        (f"http://localhost/title/{ID}", "blocked_address"),
        ("nonsense", "invalid_url"),
    ],
)
async def test_x7_other_urls_get_a_reason(site: MangaDex, url: str, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        Sites([site]).recognise(url)
    assert refused.value.code == code


async def test_a_base_address_of_ones_own_is_recognised_too(
    site: MangaDex, simulator: RunningSimulator
) -> None:
    assert site.recognise(f"{simulator.mangadex_url}/title/{ID}") == ID


async def every_page(site: MangaDex, key: str, listing: str, *languages: str) -> list[ListingPage]:
    pages, cursor = [], None
    while True:
        page = await getattr(site, listing)(key, languages, cursor)
        pages.append(page)
        cursor = page.next_cursor
        if cursor is None:
            return pages


def uploads(pages: list[ListingPage]) -> list[Upload]:
    return [upload for page in pages for upload in page.uploads]


async def test_series_metadata(site: MangaDex, simulator: RunningSimulator) -> None:
    series = simulator.world.add_series(SeriesSpec(title="Lanterns", resets=True))
    info = await site.series(series.id)
    assert (info.title, info.numbering_restarts) == ("Lanterns", True)
    assert info.url == f"https://mangadex.org/title/{series.id}"


async def test_c14_many_series_are_asked_for_a_hundred_at_a_time(
    site: MangaDex, simulator: RunningSimulator
) -> None:
    rated = simulator.world.add_series(SeriesSpec(title="Rated", content_rating="pornographic", resets=True))
    keys = [simulator.world.add_series(SeriesSpec(title=f"S {n}")).id for n in range(200)]
    infos = await site.many([*keys, rated.id, ID, keys[0]])
    assert {info.site_key for info in infos} == {*keys, rated.id}, "what does not exist is left out"
    assert [info.title for info in infos if info.numbering_restarts] == ["Rated"]
    assert len(simulator.requests.matching("/mangadex/manga")) == 3


async def test_c14_a_search_tells_titles_and_links(site: MangaDex, simulator: RunningSimulator) -> None:
    spec = SeriesSpec(title="Re:Lanterns", alt_titles=({"ja": "灯り"},), links={"al": "7", "mal": "70"})
    series = simulator.world.add_series(spec)
    simulator.world.add_series(SeriesSpec(title="Other"))
    for words in ("re lanterns", "灯り"):
        (match,) = await site.search(words)
        assert (match.info.site_key, match.titles) == (series.id, ("Re:Lanterns", "灯り"))
        assert (match.anilist_id, match.mal_id) == ("7", "70")
    assert await site.search("nothing of the kind") == []


@pytest.mark.parametrize("body", ['{"result":"ok","data":{}}', '{"result":"error","errors":[]}', "[]"])
async def test_c9_odd_lists_of_series_are_retryable(
    site: MangaDex, simulator: RunningSimulator, body: str
) -> None:
    simulator.faults.add(Fault(status=200, body=body))
    for call in (site.search("x"), site.many([ID])):
        with pytest.raises(RetryableError):
            await call


async def test_rows_that_are_no_series_are_skipped_not_fatal(
    site: MangaDex, simulator: RunningSimulator
) -> None:
    odd = '{"id":"a","attributes":{"title":[],"altTitles":{},"links":[]}}'
    body = f'{{"result":"ok","data":[null,{{"id":"x"}},{{"attributes":{{}}}},{odd}]}}'
    simulator.faults.add(Fault(status=200, body=body))
    (match,) = await site.search("x")
    assert (match.info.title, match.titles, match.anilist_id) == ("a", (), None)


async def test_c3_all_pages_are_read_in_both_orders(site: MangaDex, simulator: RunningSimulator) -> None:
    series = simulator.world.add_series(SeriesSpec(title="Long", chapters=1201))
    everything = await every_page(site, series.id, "everything", "en")
    assert [page.rows for page in everything] == [500, 500, 201]
    assert {page.total for page in everything} == {1201}
    assert len({u.upload_id for u in uploads(everything)}) == 1201
    newest = await every_page(site, series.id, "newest", "en")
    times = [u.published_at for u in uploads(newest) if u.published_at]
    assert len(times) == 1201
    assert times == sorted(times, reverse=True)


async def test_a_list_longer_than_the_window_goes_on_in_another(
    site: MangaDex, simulator: RunningSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mangadex, "WINDOW", 20)
    monkeypatch.setattr(mangadex, "EVERYTHING_PAGE", 7)
    series = simulator.world.add_series(SeriesSpec(title="Very long", chapters=100))
    pages = await every_page(site, series.id, "everything", "en")
    assert len({u.upload_id for u in uploads(pages)}) == 100
    assert all("createdAtSince" in r.query for r in simulator.requests.matching("/mangadex")[3:])


async def test_c5_groups_languages_external_links_and_oneshots(
    site: MangaDex, simulator: RunningSimulator
) -> None:
    specs: list[dict[str, Any]] = [
        {"chapter": "1", "groups": ("A", "B"), "title": "One", "volume": "1"},
        {"chapter": "1", "language": "fr"},
        {"chapter": "1", "external_url": "https://publisher.example/1", "pages": 0},
        {"chapter": None, "title": "Oneshot"},
        {"chapter": "2", "is_unavailable": True},
    ]
    series = simulator.world.add_series(
        SeriesSpec(
            title="Mixed", chapters=tuple(UploadSpec(**spec) for spec in specs), languages=("en", "fr")
        )
    )
    listed = uploads(await every_page(site, series.id, "everything", "en"))
    assert {u.language for u in listed} == {"en"}
    by_kind = {(u.number, u.external, u.unavailable): u for u in listed}
    assert by_kind[("1", False, False)].group == "A, B"
    assert by_kind[("1", True, False)].url == "https://publisher.example/1"
    assert by_kind[(None, False, False)].title == "Oneshot"
    assert ("2", False, True) in by_kind
    assert len(uploads(await every_page(site, series.id, "everything"))) == 5, "no languages: all of them"


async def test_chapters_of_the_future_are_not_there_yet(site: MangaDex, simulator: RunningSimulator) -> None:
    soon = UploadSpec(chapter="9", publish_at=datetime.now(UTC) + timedelta(days=3))
    series = simulator.world.add_series(SeriesSpec(title="Planned", chapters=(UploadSpec(chapter="8"), soon)))
    assert [u.number for u in uploads(await every_page(site, series.id, "newest", "en"))] == ["8"]


@pytest.mark.parametrize(
    ("fault", "family", "code"),
    [
        ({"kind": "html"}, RetryableError, "bad_answer"),
        ({"kind": "half_json"}, RetryableError, "bad_answer"),
        ({"status": 200, "body": '{"result":"error","errors":[]}'}, RetryableError, "bad_answer"),
        ({"status": 200, "body": '{"result":"ok","data":"no list"}'}, RetryableError, "bad_answer"),
        ({"status": 200, "body": "[]"}, RetryableError, "bad_answer"),
        ({"status": 404}, PermanentError, "not_found"),
        ({"status": 429, "retry_after": 3}, MustWait, "rate_limited"),
        ({"status": 403}, MustWait, "blocked"),
        ({"status": 503}, RetryableError, "server_error"),
    ],
)
async def test_c9_error_answers(
    site: MangaDex, simulator: RunningSimulator, fault: dict[str, Any], family: type[FascicleError], code: str
) -> None:
    series = simulator.world.add_series(SeriesSpec(title="Faulty", chapters=3))
    simulator.faults.add(Fault.model_validate(fault))
    with pytest.raises(family) as failed:
        await site.everything(series.id, ["en"], None)
    assert failed.value.code == code


async def test_204_is_an_empty_list(site: MangaDex, simulator: RunningSimulator) -> None:
    series = simulator.world.add_series(SeriesSpec(title="Empty", chapters=3))
    simulator.faults.add(Fault(status=204, body=""))
    page = await site.everything(series.id, ["en"], None)
    assert (list(page.uploads), page.total, page.next_cursor) == ([], 0, None)


async def test_rows_that_are_no_chapters_are_skipped_not_fatal(
    site: MangaDex, simulator: RunningSimulator
) -> None:
    body = (
        '{"result":"ok","total":4,"data":[null,{"id":"a"},{"id":"b","attributes":{"chapter":5,"title":7,'
        '"translatedLanguage":"en","readableAt":"never","pages":"x"}},'
        '{"id":"c","attributes":{"chapter":"6","title":"a\\u0000b\\u202e","translatedLanguage":"en"}}]}'
    )
    simulator.faults.add(Fault(status=200, body=body))
    page = await site.everything(ID, ["en"], None)
    assert [(u.upload_id, u.number, u.published_at) for u in page.uploads] == [
        ("b", None, None),
        ("c", "6", None),
    ]
    assert page.uploads[1].title == "a b"
    assert page.rows == 4
