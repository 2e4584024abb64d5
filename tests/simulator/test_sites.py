"""The smaller upstreams: one world on several sites, with faults, limits and a log like MangaDex."""

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest

from simulator.client import SimulatorControl
from simulator.faults import Fault
from simulator.rate_limit import RateLimit
from simulator.series import Series
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, SiteName, UploadSpec
from tests.simulator.conftest import client

ALL: tuple[SiteName, ...] = ("mangadex", "mangaplus", "weebcentral", "inkpages", "panelbox")


@pytest.fixture
def site(simulator: RunningSimulator) -> Iterator[httpx.Client]:
    with client(simulator.url) as http:
        yield http


def list_address(site: str, series: Series, simulator: RunningSimulator) -> str:
    """Where the site lists the chapters of a series."""
    page = simulator.pages(series)[site]
    match site:
        case "mangadex":
            return page.replace("/title/", "/manga/") + "/feed"
        case "mangaplus":
            return f"{simulator.site_url(site)}/title_detailV3?format=json&title_id={page.rpartition('/')[2]}"
        case "weebcentral":
            return page.rpartition("/")[0] + "/full-chapter-list"
        case "inkpages":
            return f"{page}/chapters"
    return page.replace("/series/", "/api/series/") + "/chapters"


@pytest.mark.parametrize("name", ALL)
def test_a_series_and_an_upload_are_only_on_the_sites_they_are_put_on(
    simulator: RunningSimulator, site: httpx.Client, name: SiteName
) -> None:
    titles = ("Everywhere chapter", "Nowhere chapter")
    series = simulator.world.add_series(
        SeriesSpec(
            title="Both",
            sites=ALL,
            chapters=(
                UploadSpec(chapter=None, title=titles[0]),
                UploadSpec(chapter=None, title=titles[1], sites=()),
            ),
        )
    )
    shown = site.get(list_address(name, series, simulator)).text
    assert [title in shown for title in titles] == [True, False]
    others = tuple(other for other in ALL if other != name)
    elsewhere = simulator.world.add_series(SeriesSpec(title="Elsewhere", sites=others, chapters=1))
    absent = Series(elsewhere.id, SeriesSpec(title="Elsewhere", sites=ALL), elsewhere.created_at)
    refused = site.get(list_address(name, absent, simulator))
    assert refused.status_code == 404 or "Not Found" in refused.text


@pytest.mark.parametrize("name", ALL)
def test_faults_limits_and_the_log_work_on_every_site(
    simulator: RunningSimulator, site: httpx.Client, name: SiteName
) -> None:
    series = simulator.world.add_series(SeriesSpec(title="A", chapters=1, sites=ALL))
    address = list_address(name, series, simulator)
    simulator.faults.add(Fault(path=f"/{name}", status=503, retry_after=7, count=1))
    refused = site.get(address)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "7")
    is_html = name in ("weebcentral", "inkpages")
    assert refused.headers["content-type"].startswith("text/html" if is_html else "application/json")
    simulator.rate_limits.set(RateLimit(path=f"/{name}", requests_per_second=0.001))
    assert [site.get(address).status_code for _ in range(2)] == [200, 429]
    logged = simulator.requests.matching(f"/{name}")
    assert [request.status for request in logged] == [503, 200, 429]


@pytest.mark.parametrize(
    "path", ["/inkpages/latest?page=0", "/panelbox/api/latest?cursor=x", "/inkpages/nowhere"]
)
def test_requests_that_make_no_sense_are_refused(site: httpx.Client, path: str) -> None:
    assert site.get(path).status_code in (400, 404)


def test_chapters_of_the_future_are_nowhere(simulator: RunningSimulator, site: httpx.Client) -> None:
    soon = UploadSpec(chapter="1", title="Soon", readable_at=datetime(2999, 1, 1, tzinfo=UTC))
    series = simulator.world.add_series(SeriesSpec(title="A", sites=ALL, chapters=(soon,)))
    for name in ALL[1:]:
        assert "Soon" not in site.get(list_address(name, series, simulator)).text
    for latest in ("/weebcentral/latest-updates/1", "/inkpages/latest", "/panelbox/api/latest"):
        assert "Chapter 1" not in site.get(latest).text


async def test_the_control_api_says_where_a_series_is(simulator: RunningSimulator) -> None:
    async with SimulatorControl(simulator.url) as control:
        added = await control.add_series(SeriesSpec(title="Two Homes", sites=("mangadex", "inkpages")))
        [listed] = await control.series()
    assert list(added.pages) == ["mangadex", "inkpages"]
    assert listed.pages == added.pages == simulator.pages(simulator.world.series[added.id])
