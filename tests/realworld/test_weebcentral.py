"""WeebCentral's adapter on a page recorded from the real site."""

from pathlib import Path

from fascicle.net.http import HttpClient
from fascicle.sandbox import Sandbox
from fascicle.services.dependencies import standalone_http
from fascicle.sites.weebcentral.site import WeebCentral
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.harness import settings_for


async def test_c13_every_chapter_of_the_recorded_list_is_read(
    fixtures_folder: Path, simulator: RunningSimulator, sandbox: Sandbox
) -> None:
    recorded = (fixtures_folder / "manga" / "weebcentral_full_chapter_list.html").read_text()
    simulator.faults.add(Fault(kind="html", path="/weebcentral", body=recorded))
    async with standalone_http(settings_for("postgresql:///unused", simulator)) as http:
        page = await _site(http, sandbox, simulator).newest("01J76XY7KT7J224SBE1MH9RBYY", ["en"], None)
    assert [u.number for u in page.uploads] == [str(number) for number in range(17, 0, -1)]
    assert len({u.upload_id for u in page.uploads}) == 17
    assert all(u.published_at and u.published_at.year == 2024 for u in page.uploads)
    assert {u.group for u in page.uploads} == {"Official"}
    assert (page.rows, page.total, page.partial) == (17, 17, False)
    assert page.uploads[0].url == "https://weebcentral.com/chapters/01J76XYY67FJMNM12XA6R35PFA"


def _site(http: HttpClient, sandbox: Sandbox, simulator: RunningSimulator) -> WeebCentral:
    return WeebCentral(http, sandbox, base_url=simulator.site_url("weebcentral"), interval_seconds=0)
