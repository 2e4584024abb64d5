"""WeebCentral against the simulator (C13, C16)."""

from typing import Any

import pytest

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.sites.base import Sites
from fascicle.sites.weebcentral.site import WeebCentral
from simulator.catalogue import series_key
from simulator.faults import Fault
from simulator.series import Series
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec
from tests.sites.listing import every_page, is_complete, uploads

ID = "01J76XY7KT7J224SBE1MH9RBYY"


@pytest.fixture
def site(sites: Sites) -> WeebCentral:
    site = sites.named("weebcentral")
    assert isinstance(site, WeebCentral)
    return site


def key_of(series: Series) -> str:
    return series_key("weebcentral", series)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (f"https://weebcentral.com/series/{ID}/Lanterns", ID),
        (f"https://www.weebcentral.com/series/{ID}", ID),
        (f"https://weebcentral.com/series/{ID.lower()}/?x=1", ID),
        (f"https://weebcentral.com/chapters/{ID}", None),
        ("https://weebcentral.com/series/short/Lanterns", None),
        (f"https://weebcentral.com.evil.example/series/{ID}", None),
    ],
)
def test_c14_series_urls_are_recognised(site: WeebCentral, url: str, key: str | None) -> None:
    assert site.recognise(url) == key


async def test_c13_the_whole_list_is_one_page(site: WeebCentral, simulator: RunningSimulator) -> None:
    chapters = (
        UploadSpec(chapter="1", external_url="https://publisher.example/1"),
        UploadSpec(chapter="1.5"),
        UploadSpec(chapter="2", language="fr"),
        UploadSpec(chapter=None, title="Special <1>"),
    )
    series = simulator.world.add_series(
        SeriesSpec(title="Tea & Rain", chapters=chapters, sites=("weebcentral",))
    )
    assert (await site.series(key_of(series))).title == "Tea & Rain"
    pages = await every_page(site, key_of(series), "everything", "en")
    listed = {(u.number, u.title, u.group, u.language) for u in uploads(pages)}
    assert listed == {
        ("1", None, "Official", "en"),
        ("1.5", None, None, "en"),
        (None, "Special <1>", None, "en"),
    }
    assert is_complete(pages)
    assert all(u.published_at for u in uploads(pages))


async def test_c16_the_latest_updates_name_series_and_chapter(
    site: WeebCentral, simulator: RunningSimulator
) -> None:
    series = simulator.world.add_series(SeriesSpec(title="Lanterns", chapters=40, sites=("weebcentral",)))
    simulator.world.add_series(SeriesSpec(title="Elsewhere", chapters=3))
    first = await site.latest(["en"], None)
    second = await site.latest(["en"], first.next_cursor)
    end = await site.latest(["en"], second.next_cursor)
    entries = [*first.entries, *second.entries]
    listed = uploads(await every_page(site, key_of(series), "newest", "en"))
    assert [entry.upload_id for entry in entries] == [upload.upload_id for upload in listed]
    assert {entry.series_key for entry in entries} == {key_of(series)}
    assert entries[0].at == series.uploads[-1].readable_at
    assert (len(end.entries), end.next_cursor) == (0, None)


@pytest.mark.parametrize(
    ("fault", "family", "code"),
    [
        ({"kind": "html"}, RetryableError, "bad_answer"),
        ({"kind": "half_json"}, RetryableError, "bad_answer"),
        (
            {"status": 200, "body": '<a href="/chapters/odd">1</a><a href="#top">'},
            RetryableError,
            "bad_answer",
        ),
        ({"status": 200, "body": '<input name="chapter_id"><a href="#top">'}, RetryableError, "bad_answer"),
        ({"status": 404}, PermanentError, "not_found"),
        ({"status": 403}, MustWait, "blocked"),
        ({"status": 502}, RetryableError, "server_error"),
    ],
)
async def test_c9_a_page_that_is_no_list_is_an_error(
    site: WeebCentral,
    simulator: RunningSimulator,
    fault: dict[str, Any],
    family: type[FascicleError],
    code: str,
) -> None:
    simulator.faults.add(Fault.model_validate(fault))
    with pytest.raises(family) as failed:
        await site.everything(ID, ["en"], None)
    assert failed.value.code == code
    if code == "bad_answer":
        for read in (site.series(ID), site.latest([], None)):
            with pytest.raises(RetryableError):
                await read


async def test_an_empty_list_is_one_and_not_complete(site: WeebCentral, simulator: RunningSimulator) -> None:
    series = simulator.world.add_series(SeriesSpec(title="Soon", sites=("weebcentral",)))
    pages = await every_page(site, key_of(series), "newest", "en")
    assert uploads(pages) == []
    assert not is_complete(pages)
