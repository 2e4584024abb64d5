"""The declarative adapter: the worked examples, and files and sites that are wrong (C13, X7)."""

from datetime import datetime
from typing import Any

import pytest

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.domain.series.chapter import LatestEntry
from fascicle.sites.base import Sites, SweepableSite
from simulator.faults import Fault
from simulator.specs import SiteName, UploadSpec
from tests.sites.bench import Bench, chapters_answer
from tests.sites.listing import every_page, is_complete, uploads

EXAMPLES: tuple[SiteName, ...] = ("inkpages", "panelbox")
both = pytest.mark.parametrize("name", EXAMPLES)


@pytest.mark.parametrize(
    ("url", "name", "key"),
    [
        ("https://inkpages.example/comic/lanterns-12", "inkpages", "lanterns-12"),
        ("http://www.inkpages.example/comic/lanterns-12/?tab=1#x", "inkpages", "lanterns-12"),
        ("https://panelbox.example/series/0123456789abcdef/slug", "panelbox", "0123456789abcdef"),
    ],
)
def test_c14_series_urls_are_recognised(sites: Sites, url: str, name: str, key: str) -> None:
    site, found = sites.recognise(url)
    assert (site.name, found) == (name, key)


@pytest.mark.parametrize(
    "url",
    [
        "https://inkpages.example/read/12",
        "https://inkpages.example/comic/..",
        "https://evil.example/comic/lanterns",
        "https://panelbox.example/series/" + "0" * 300,
    ],
)
def test_c14_other_urls_are_not(sites: Sites, url: str) -> None:
    with pytest.raises(UsageError) as refused:
        sites.recognise(url)
    assert refused.value.code == "unknown_site"


def test_c14_a_key_may_stand_in_the_query_and_be_encoded(bench: Bench) -> None:
    site = bench.site("inkpages", match=r"inkpages\.example/show\?id=(?P<key>[^&]+)")
    assert site.recognise("https://inkpages.example/show?id=caf%C3%A9%2F1") == "café/1"
    assert site.recognise(f"{bench.simulator.site_url('inkpages')}/show?id=7") == "7"


@both
async def test_c13_a_file_is_enough_to_read_a_site(sites: Sites, bench: Bench, name: SiteName) -> None:
    series, key = bench.series(
        name,
        languages=("en", "fr"),
        chapters=(
            UploadSpec(chapter="1", title="Rain & <Snow>", groups=("A", "B")),
            UploadSpec(chapter="1", language="fr"),
            UploadSpec(chapter="1.5"),
            UploadSpec(chapter=None, title="Oneshot"),
            UploadSpec(chapter="9", sites=("mangadex",)),
        ),
    )
    site, found = sites.recognise(bench.simulator.pages(series)[name])
    assert (site.name, found) == (name, key)
    info = await site.series(key)
    assert (info.title, info.url.startswith(f"https://{name}.example/")) == ("Lanterns", True)
    listed = uploads(await every_page(site, key, "everything", "en"))
    assert {(u.number, u.title, u.group, u.language) for u in listed} == {
        ("1", "Rain & <Snow>", "A, B", "en"),
        ("1.5", None, "Example Scans", "en"),
        (None, "Oneshot", "Example Scans", "en"),
    }
    assert {u.published_at for u in listed} == {series.uploads[0].readable_at}
    assert all(u.url == f"{bench.simulator.site_url(name)}/read/{u.upload_id}" for u in listed)
    assert len(uploads(await every_page(site, key, "everything"))) == 4, "no languages: all of them"


@both
async def test_c3_c12_all_pages_are_read_and_only_a_whole_list_counts_as_complete(
    sites: Sites, bench: Bench, name: SiteName
) -> None:
    _, key = bench.series(name, chapters=111)
    site = sites.named(name)
    pages = await every_page(site, key, "everything", "en")
    assert len({u.upload_id for u in uploads(pages)}) == 111
    assert is_complete(pages)
    assert not is_complete(pages[:-1])
    newest = uploads(await every_page(site, key, "newest", "en"))
    assert [u.number for u in newest] == [str(number) for number in range(111, 0, -1)]


@both
async def test_c12_a_list_that_shrank_meanwhile_is_not_complete(
    sites: Sites, bench: Bench, name: SiteName
) -> None:
    series, key = bench.series(name, chapters=60)
    site = sites.named(name)
    first = await site.everything(key, ["en"], None)
    bench.simulator.world.withdraw(series.uploads[30].id)
    rest, cursor = [first], first.next_cursor
    while cursor:
        rest.append(await site.everything(key, ["en"], cursor))
        cursor = rest[-1].next_cursor
    assert not is_complete(rest)


async def test_c7_releases_while_the_whole_list_is_read_do_not_move_its_pages(
    sites: Sites, bench: Bench
) -> None:
    series, key = bench.series("panelbox", chapters=70)
    site = sites.named("panelbox")
    first = await site.everything(key, ["en"], None)
    bench.simulator.world.release(series.id, UploadSpec(), UploadSpec())
    second = await site.everything(key, ["en"], first.next_cursor)
    numbers = [u.number for u in (*first.uploads, *second.uploads)]
    assert numbers == [str(number) for number in range(1, 73)]


async def test_an_oldest_first_list_is_read_to_its_end_for_the_newest(bench: Bench) -> None:
    oldest_first = "/api/series/{key}/chapters?order=oldest&cursor={cursor}"
    site = bench.site(
        "panelbox", list__url=oldest_first, list__oldest_first_url=None, list__order="oldest_first"
    )
    _, key = bench.series("panelbox", chapters=120)
    page = await site.newest(key, ["en"], None)
    assert [u.number for u in page.uploads][:2] == ["120", "119"]
    assert (page.rows, page.total, page.next_cursor) == (120, 120, None)


async def test_a_page_of_other_languages_does_not_end_the_search_for_news(sites: Sites, bench: Bench) -> None:
    series, key = bench.series("inkpages", chapters=2, languages=("en", "fr"))
    bench.simulator.world.release(series.id, *(UploadSpec(chapter="3", language="fr") for _ in range(25)))
    page = await sites.named("inkpages").newest(key, ["en"], None)
    assert [u.number for u in page.uploads] == ["2", "1"]


async def test_a_site_with_one_language_is_not_emptied_by_the_choice_of_another(bench: Bench) -> None:
    site = bench.site("inkpages", list__fields__language=None, language="pt-br")
    _, key = bench.series("inkpages")
    assert {u.language for u in uploads(await every_page(site, key, "newest", "en"))} == {"pt-br"}


async def test_c12_a_site_that_shows_only_part_concludes_nothing(bench: Bench) -> None:
    site = bench.site("inkpages", complete=False)
    _, key = bench.series("inkpages")
    assert not is_complete(await every_page(site, key, "everything", "en"))


@both
async def test_c16_what_is_new_for_everyone(sites: Sites, bench: Bench, name: SiteName) -> None:
    series, key = bench.series(name, chapters=70, languages=("en", "fr"))
    site = sites.named(name)
    assert isinstance(site, SweepableSite)
    listed = [u.upload_id for u in uploads(await every_page(site, key, "newest", "en", "fr"))]
    entries: list[LatestEntry] = []
    cursor, pages = None, 0
    while pages == 0 or cursor:
        page = await site.latest(["en"], cursor)
        entries += page.entries
        cursor, pages = page.next_cursor, pages + 1
    assert [entry.upload_id for entry in entries] == listed[: len(entries)]
    assert {(entry.series_key, entry.language) for entry in entries} == {(key, "en"), (key, "fr")}
    assert entries[0].at == series.uploads[-1].readable_at
    assert pages <= 5, "the latest list is not read to its end"
    assert not isinstance(bench.site(name, latest=None), SweepableSite)


@pytest.mark.parametrize(
    ("fault", "family", "code"),
    [
        ({"kind": "html"}, RetryableError, "bad_answer"),
        ({"kind": "half_json"}, RetryableError, "bad_answer"),
        ({"status": 404}, PermanentError, "not_found"),
        ({"status": 429, "retry_after": 3}, MustWait, "rate_limited"),
        ({"status": 503}, RetryableError, "server_error"),
        ({"status": 200, "body": '{"error":"quota"}'}, PermanentError, "adapter_broken"),
        ({"status": 200, "body": '{"chapters":"none"}'}, PermanentError, "adapter_broken"),
        ({"status": 200, "body": "[]"}, PermanentError, "adapter_broken"),
        ({"status": 200, "body": '"text"'}, PermanentError, "adapter_broken"),
        ({"status": 200, "body": '{"chapters":[null,7,"x",{}]}'}, PermanentError, "adapter_broken"),
    ],
)
async def test_c9_error_answers_of_an_api(
    sites: Sites, bench: Bench, fault: dict[str, Any], family: type[FascicleError], code: str
) -> None:
    bench.simulator.faults.add(Fault.model_validate(fault))
    with pytest.raises(family) as failed:
        await sites.named("panelbox").everything("0123456789abcdef", ["en"], None)
    assert failed.value.code == code


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"list__items": "li.gone", "list__container": None}, "list.items (li.gone)"),
        ({"list__items": "li.gone", "list__container": "ul.gone"}, "list.container (ul.gone)"),
        ({"list__fields__id": "::attr(data-gone)"}, "list.fields.id (::attr(data-gone)) is not there"),
        ({"list__fields__url": "b::attr(href)"}, "list.fields.url (b::attr(href)) is not there"),
        ({"list__fields__url": {"css": "a", "template": "data:{value}"}}, "is no web address"),
        ({"list__fields__id": {"css": "a", "regex": "Kapitel ([0-9]+)"}}, "list.fields.id (a) is not there"),
    ],
)
async def test_x7_a_selector_that_matches_nothing_is_named(
    bench: Bench, changes: dict[str, Any], words: str
) -> None:
    _, key = bench.series("inkpages")
    site = bench.site("inkpages", **changes)
    with pytest.raises(PermanentError) as broken:
        await site.newest(key, ["en"], None)
    assert broken.value.code == "adapter_broken"
    assert words in broken.value.message
    assert str(bench.folder / "inkpages.yaml") in broken.value.message


async def test_x7_a_title_that_is_not_there_is_named(bench: Bench) -> None:
    _, key = bench.series("inkpages")
    with pytest.raises(PermanentError, match=r"series\.title \(h2\)"):
        await bench.site("inkpages", series__title="h2").series(key)


@both
async def test_an_empty_list_is_no_fault(sites: Sites, bench: Bench, name: SiteName) -> None:
    _, key = bench.series(name, chapters=0)
    pages = await every_page(sites.named(name), key, "everything", "en")
    assert [(len(page.uploads), page.rows) for page in pages] == [(0, 0)]
    assert not is_complete(pages)


async def test_bad_rows_are_skipped_and_wild_values_tamed(sites: Sites, bench: Bench) -> None:
    wild = {
        "id": 7,
        "number": "9" * 50,
        "title": "a\x00b\u202e" + "long " * 2000,
        "lang": "EN",
        "teams": [{"name": "A"}, {"nom": "B"}, {"name": None}],
        "released": 1e300,
    }
    rows = [None, {"title": "no id"}, {"id": True}, {"id": "8", "number": 12.5, "released": "soon"}, wild]
    bench.simulator.faults.add(chapters_answer(*rows))
    page = await sites.named("panelbox").everything("0123456789abcdef", ["en"], None)
    tame, tamed = page.uploads
    assert (tame.upload_id, tame.number, tame.published_at) == ("8", "12.5", None)
    assert (tamed.upload_id, tamed.number, tamed.group, tamed.language) == ("7", None, "A", "en")
    assert tamed.title is not None
    assert tamed.title.startswith("a b long")
    assert len(tamed.title) <= 500
    assert page.rows == 5


@pytest.mark.parametrize(
    ("written", "formats", "read"),
    [
        ("2026-11-16T09:00:00+02:00", ["iso"], "2026-11-16T07:00:00+00:00"),
        ("2026-11-16", ["iso"], "2026-11-16T00:00:00+00:00"),
        ("16 Nov 2026", ["%d/%m/%Y", "%d %b %Y"], "2026-11-16T00:00:00+00:00"),
        ("1700000000000", ["unix_ms"], "2023-11-14T22:13:20+00:00"),
        ("0", ["unix"], None),
        ("yesterday", ["iso", "unix", "%d"], None),
    ],
)
async def test_dates_are_read_by_the_formats_given(
    bench: Bench, written: str, formats: list[str], read: str | None
) -> None:
    bench.simulator.faults.add(chapters_answer({"id": "1", "released": written}))
    site = bench.site("panelbox", list__dates=formats)
    [upload] = (await site.everything("0123456789abcdef", [], None)).uploads
    assert upload.published_at == (datetime.fromisoformat(read) if read else None)
