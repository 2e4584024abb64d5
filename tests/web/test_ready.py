"""/ready tells whether this worker can work (O1)."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from fascicle.process.disk_space import free_bytes
from fascicle.web.ops import OpsProbes, ops_app


async def ready(*, has_room: bool) -> httpx.Response:
    async def up() -> bool:
        return True

    async def about() -> dict[str, Any]:
        return {}

    async def nothing() -> str:
        return ""

    probes = OpsProbes(up, up, lambda: "running", lambda: has_room, lambda: 0, about, nothing, nothing)
    transport = httpx.ASGITransport(app=ops_app(probes))
    async with httpx.AsyncClient(transport=transport, base_url="http://worker") as client:
        return await client.get("/ready")


@pytest.mark.parametrize(("has_room", "status", "disk"), [(True, 200, "ok"), (False, 503, "full")])
async def test_o1_a_full_disk_is_not_ready(has_room: bool, status: int, disk: str) -> None:
    answer = await ready(has_room=has_room)
    assert (answer.status_code, answer.json()["disk"], answer.json()["ready"]) == (status, disk, has_room)


def test_o1_room_is_measured_where_the_data_folder_will_be(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "not" / "yet" / "there") == pytest.approx(free_bytes(tmp_path), rel=0.1)
