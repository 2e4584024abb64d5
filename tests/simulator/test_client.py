from collections.abc import AsyncIterator

import httpx
import pytest

from simulator.ao3 import Ao3SeriesSpec, Place, WorkSpec
from simulator.client import ControlRefusedError, SimulatorControl
from simulator.deviantart import AccountLimit
from simulator.faults import Fault
from simulator.multipart import FormFile
from simulator.rate_limit import RateLimit
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec


@pytest.fixture
async def remote(simulator: RunningSimulator) -> AsyncIterator[SimulatorControl]:
    async with SimulatorControl(simulator.url) as control:
        yield control


async def test_series_and_chapters(remote: SimulatorControl, simulator: RunningSimulator) -> None:
    added = await remote.add_series(SeriesSpec(title="A", chapters=(UploadSpec(chapter=None), UploadSpec())))
    (released,) = await remote.release(added.id)
    assert [upload.chapter for upload in await remote.uploads(added.id)] == [None, "1", "2"]
    assert released.created_at == simulator.world.find_upload(released.id).created_at
    revised = await remote.revise(added.id, released.id, UploadSpec(title="T"))
    assert (revised.title, revised.chapter) == ("T", "2")
    await remote.withdraw(added.id, released.id)
    (summary,) = await remote.series()
    assert (summary.title, summary.uploads, summary.url) == ("A", 2, added.url)
    await remote.remove_series(added.id)
    assert await remote.series() == []


async def test_works_of_ao3(remote: SimulatorControl, simulator: RunningSimulator) -> None:
    first = await remote.add_work(WorkSpec(id=5, chapters_total=None))
    series = await remote.add_ao3_series(Ao3SeriesSpec(title="S", works=(5,)))
    second = await remote.add_work(WorkSpec(title="Later", series=(Place(series=series.id),)))
    grown = await remote.update_work(5, WorkSpec(chapters=2, words=9))
    assert (grown.title, grown.words, grown.chapter_count) == (first.title, 9, "2/?")
    members = simulator.ao3.members(simulator.ao3.series(series.id))
    assert members == [(1, grown), (2, second)]
    with pytest.raises(ControlRefusedError, match="id 5 is in use"):
        await remote.add_work(WorkSpec(id=5))
    with pytest.raises(ControlRefusedError, match="404"):
        await remote.update_work(6, WorkSpec(words=1))


async def test_faults_requests_and_limits(remote: SimulatorControl, api: httpx.Client) -> None:
    await remote.add_fault(Fault(status=500, count=1))
    assert api.get("/manga").status_code == 500
    (report,) = await remote.faults()
    assert (report.fault.status, report.hits) == (500, 1)
    await remote.clear_faults()
    await remote.set_rate_limit(RateLimit(requests_per_second=0.001))
    assert [api.get("/manga").status_code for _ in range(2)] == [200, 429]
    logged = await remote.requests("/mangadex/manga")
    assert [(entry.status, entry.fault) for entry in logged] == [(500, "status"), (200, None), (429, None)]
    await remote.clear_requests()
    assert await remote.requests() == []


async def test_sink(remote: SimulatorControl, simulator: RunningSimulator) -> None:
    simulator.sink.add("ann", {"title": "t", "n": 1})
    simulator.sink.add("bob", {})
    (message,) = await remote.sink("ann")
    assert (message.title, message.payload) == ("t", {"title": "t", "n": 1})
    assert len(await remote.sink()) == 2
    await remote.clear_sink()
    assert await remote.sink() == []


async def test_health_reset_and_refusal(remote: SimulatorControl) -> None:
    assert await remote.is_healthy()
    await remote.reset("demo")
    assert len(await remote.series()) == 306
    with pytest.raises(ControlRefusedError, match=r"404 .*no series"):
        await remote.release("nowhere")
    async with SimulatorControl("http://127.0.0.1:1") as nobody:
        assert not await nobody.is_healthy()


async def test_deviantart(remote: SimulatorControl, simulator: RunningSimulator) -> None:
    art = remote.deviantart
    pair = await art.add_account("ann", scope="basic", auto_approve=True)
    assert simulator.deviantart.account("ann").userid == pair.userid
    assert await art.current_tokens("ann") == pair
    assert (await art.configure(gallery_delay=3)).gallery_delay == 3
    with pytest.raises(ControlRefusedError, match="422"):
        await art.configure(gallery_dealy=3)
    await art.limit("ann", AccountLimit(refuse=1))
    assert simulator.deviantart.limits.refusal("ann") == AccountLimit(refuse=1)
    simulator.deviantart.tokens.refresh(pair.refresh_token)
    assert [refresh.generation for refresh in await art.refreshes("ann")] == [1]
    assert await art.expire_access("ann") == 2
    await art.revoke("ann", refresh_only=True)
    assert await art.current_tokens("ann") is None
    assert (await art.post_by_hand("ann", "Mine", at=5)).at == 5
    file = FormFile("file", "a.png", "image/png", 3, "abc")
    item = simulator.deviantart.submit("ann", "A", [], file, {}, None)
    assert [orphan.item_id for orphan in await art.orphans()] == [item.item_id]
    simulator.deviantart.publish("ann", item.item_id, {}, is_mature=False)
    assert (await art.published("ann"), await art.published("bob")) == (simulator.deviantart.published(), [])
    assert [submission.sha256 for submission in await art.submissions()] == ["abc"]
    with pytest.raises(ControlRefusedError, match="404"):
        await art.revoke("nobody")
