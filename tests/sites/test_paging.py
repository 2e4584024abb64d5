"""Lists of an adapter that go on and on: bounded, and on their own site (C9, X4)."""

from typing import Any

import pytest

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.domain.series.chapter import Upload
from fascicle.net.ssrf import HostGuard
from fascicle.sites.base import ChapterSite
from fascicle.sites.declarative import Surroundings, build_site
from simulator.faults import Fault
from tests.sites.bench import Bench, chapters_answer
from tests.sites.listing import every_page, is_complete, uploads


async def _read_on(site: ChapterSite, key: str) -> list[Upload]:
    return uploads(await every_page(site, key, "everything", "en"))


async def test_endless_lists_end_the_same_page_again(bench: Bench) -> None:
    bench.simulator.faults.add(chapters_answer({"id": "1"}, {"id": "2"}, next="again"))
    with pytest.raises(RetryableError) as endless:
        await _read_on(bench.site("panelbox"), "0123456789abcdef")
    assert endless.value.code == "endless_list"
    assert len(bench.simulator.requests.matching("/panelbox")) == 2


async def test_endless_lists_end_a_link_in_a_circle(bench: Bench) -> None:
    """Page 1 leads to 2, 2 to 3, and 3 back to 2."""
    for at, following in ((1, 2), (2, 3), (3, 2), (2, 3)):
        body = f'<ol class="chapters"><li class="chapter" data-id="{at}"><a href="/r">Chapter {at}</a></ol>'
        body += f'<a class="next" href="?page={following}">on</a>'
        bench.simulator.faults.add(Fault(status=200, path="/inkpages", body=body, count=1))
    site = bench.site(
        "inkpages",
        list__url="/comic/{key}/chapters",
        list__paging={"by": "link", "next": "a.next::attr(href)"},
    )
    with pytest.raises(RetryableError, match="page 4 of the list is page 2 again"):
        await _read_on(site, "lanterns")
    queries = [request.query for request in bench.simulator.requests.matching("/inkpages")]
    assert queries[1:] == ["page=2", "page=3", "page=2"]


async def test_endless_lists_end_more_pages_than_allowed(bench: Bench) -> None:
    _, key = bench.series("inkpages", chapters=90)
    paging = {"by": "page", "more": "a.next", "max_pages": 3}
    with pytest.raises(PermanentError, match=r"more than 3 pages.*list\.paging\.max_pages") as endless:
        await _read_on(bench.site("inkpages", list__paging=paging), key)
    assert endless.value.code == "endless_list"
    assert len(bench.simulator.requests.matching("/inkpages")) == 3


async def test_a_list_by_page_may_end_with_an_empty_page(bench: Bench) -> None:
    _, key = bench.series("inkpages", chapters=40)
    pages = await every_page(bench.site("inkpages", list__paging={"by": "page"}), key, "everything", "en")
    assert [page.rows for page in pages] == [20, 20, 0]
    assert is_complete(pages)


@pytest.mark.parametrize(
    ("paging", "complete"),
    [
        ({"by": "page"}, True),
        ({"by": "page", "more": "a.next"}, False),
        ({"by": "page", "more": "a.renamed"}, False),
    ],
)
async def test_c12_an_end_that_only_lacks_a_link_proves_nothing_without_a_total(
    bench: Bench, paging: dict[str, str], complete: bool
) -> None:
    """A pager that the site renames must not make all chapters beyond the first page vanish."""
    _, key = bench.series("inkpages", chapters=30)
    site = bench.site("inkpages", list__paging=paging, list__total=None)
    assert is_complete(await every_page(site, key, "everything", "en")) is complete


@pytest.mark.parametrize(
    ("answer", "complete"),
    [({"next": None}, True), ({}, False), ({"total": 1}, True), ({"total": 2, "next": None}, False)],
)
async def test_c12_an_api_can_say_that_nothing_follows(
    bench: Bench, answer: dict[str, Any], complete: bool
) -> None:
    bench.simulator.faults.add(chapters_answer({"id": "1"}, **answer))
    pages = await every_page(bench.site("panelbox"), "0123456789abcdef", "everything", "en")
    assert is_complete(pages) is complete


@pytest.mark.parametrize(
    "link", ["https://evil.example/2", "http://127.0.0.1:1/2", "javascript:x", "http://["]
)
async def test_x4_a_list_goes_on_where_it_began(bench: Bench, link: str) -> None:
    body = '<ol class="chapters"><li class="chapter" data-id="1"><a href="/r">1</a></ol>'
    body += f'<a class="n" href="{link}">on</a>'
    bench.simulator.faults.add(Fault(status=200, path="/inkpages", body=body))
    site = bench.site(
        "inkpages", list__url="/comic/{key}/chapters", list__paging={"by": "link", "next": "a.n::attr(href)"}
    )
    with pytest.raises(RetryableError) as refused:
        await site.newest("lanterns", ["en"], None)
    assert refused.value.code == "bad_answer"


async def test_x4_the_guard_stands_before_adapters_too(bench: Bench) -> None:
    site = bench.site("inkpages", base_url="http://localhost:1")
    site = build_site(bench.http, bench.sandbox, site.file, Surroundings({}, HostGuard(["localhost"])))
    with pytest.raises(PermanentError) as refused:
        await site.series("lanterns")
    assert refused.value.code == "blocked_address"
