from typing import Any

import httpx
import pytest

from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec

MISSING = "00000000-0000-0000-0000-000000000000"


def test_series_is_added_and_served(control: httpx.Client, api: httpx.Client) -> None:
    answer = control.post(
        "/series", json={"title": "A New One", "chapters": 3, "languages": ["fr"], "resets": True}
    )
    assert answer.status_code == 201
    added = answer.json()
    assert api.get(added["url"]).json()["data"]["id"] == added["id"]
    assert added["site_url"] == f"https://mangadex.org/title/{added['id']}/a-new-one"
    (listed,) = control.get("/series").json()
    told = {"title": "A New One", "status": "ongoing", "languages": ["fr"], "uploads": 3, "next_chapter": "4"}
    assert listed == {**added, **told}


def test_series_with_uploads_of_its_own(control: httpx.Client, simulator: RunningSimulator) -> None:
    chapters = [{"chapter": 1, "group": "G"}, {"chapter": 10.5}, {"chapter": None}, {}]
    body = {"title": "A", "id": MISSING, "chapters": chapters}
    assert control.post("/series", json=body).json()["id"] == MISSING
    uploads = simulator.world.series[MISSING].uploads
    assert [upload.chapter for upload in uploads] == ["1", "10.5", None, "11"]
    assert uploads[0].groups == ("G",)


def test_chapters_are_released_revised_and_withdrawn(control: httpx.Client, api: httpx.Client) -> None:
    series_id = control.post("/series", json={"title": "A", "chapters": 1}).json()["id"]
    path = f"/series/{series_id}/chapters"
    (next_one,) = control.post(path).json()
    assert next_one["chapter"] == "2"
    pair = control.post(
        path, json=[{"chapter": "3", "language": "fr"}, {"chapter": "3", "title": "x"}]
    ).json()
    assert [upload["language"] for upload in pair] == ["fr", "en"]
    revised = control.patch(f"{path}/{next_one['id']}", json={"volume": "1"}).json()
    assert (revised["volume"], revised["version"]) == ("1", 2)
    assert control.delete(f"{path}/{next_one['id']}").json()["id"] == next_one["id"]
    assert [upload["chapter"] for upload in control.get(path).json()] == ["1", "3", "3"]
    assert api.get(f"/manga/{series_id}/feed").json()["total"] == 3
    assert control.delete(f"/series/{series_id}").status_code == 200
    assert api.get(f"/manga/{series_id}").status_code == 404


def test_faults_are_armed_reported_and_cleared(control: httpx.Client, api: httpx.Client) -> None:
    body = {"kind": "status", "status": 429, "retry_after": 2, "path": "/mangadex/manga", "count": 1}
    armed = control.post("/faults", json=body)
    assert (armed.status_code, armed.json()["fault"]["status"]) == (201, 429)
    assert [api.get("/manga").status_code for _ in range(2)] == [429, 200]
    (report,) = control.get("/faults").json()
    assert (report["seen"], report["hits"]) == (2, 1)
    control.delete("/faults")
    assert control.get("/faults").json() == []


def test_requests_are_listed_and_forgotten(control: httpx.Client, api: httpx.Client) -> None:
    api.get("/manga")
    api.get("/chapter")
    (entry,) = control.get("/requests", params={"path": "/mangadex/chapter"}).json()
    assert (entry["path"], entry["status"], entry["fault"]) == ("/mangadex/chapter", 200, None)
    assert control.get("/requests", params={"since": entry["at"] + 1}).json() == []
    control.delete("/requests")
    assert control.get("/requests").json() == []


def test_rate_limit_is_set_and_lifted(control: httpx.Client, api: httpx.Client) -> None:
    control.post("/rate_limit", json={"requests_per_second": 1})
    assert [api.get("/manga").status_code for _ in range(2)] == [200, 429]
    control.post("/rate_limit", json={"requests_per_second": None})
    assert api.get("/manga").status_code == 200


def test_reset_forgets_everything(
    control: httpx.Client, api: httpx.Client, simulator: RunningSimulator
) -> None:
    simulator.world.add_series(SeriesSpec(title="A"))
    simulator.sink.add("ann", {})
    control.post("/faults", json={"status": 500})
    control.post("/rate_limit", json={"requests_per_second": 0.01})
    api.get("/manga")
    assert control.post("/reset").status_code == 200
    for path in ("/series", "/faults", "/requests", "/sink"):
        assert control.get(path).json() == []
    assert [api.get("/manga").status_code for _ in range(2)] == [200, 200]
    control.post("/reset", json={"world": "demo"})
    assert control.get("/health").json() == {"status": "ok", "series": 306}


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/series", {}, "title: Field required"),
        ("/series", {"title": "A", "chapters": -1}, "chapters"),
        ("/series", {"title": "A", "id": "seven"}, "id: Value error"),
        ("/series", {"title": "A", "chapters": [{"nmber": 1}]}, "nmber"),
        ("/series", {"title": "Taken"}, "is there already"),
        ("/series", [], "body"),
        ("/series/{taken}/chapters", {"language": "English"}, "language: String should match pattern"),
        ("/series/{taken}/chapters", [{}, {"pages": -1}], "pages"),
        ("/faults", {"kind": "explode"}, "kind: Input should be"),
        ("/faults", {"kind": "delay"}, "needs a delay"),
        ("/rate_limit", {"requests_per_second": 0}, "requests_per_second"),
        ("/reset", {"world": "other"}, "world: Input should be"),
    ],
)
def test_bad_input_is_refused_readably(
    control: httpx.Client, simulator: RunningSimulator, path: str, body: Any, message: str
) -> None:
    taken = simulator.world.add_series(SeriesSpec(title="Taken")).id
    answer = control.post(path.format(taken=taken), json=body)
    assert answer.status_code == 422
    assert message in answer.json()["error"]


def test_what_is_not_json_is_refused_readably(control: httpx.Client) -> None:
    answer = control.post("/series", content=b"{title:")
    assert (answer.status_code, answer.json()["error"][:8]) == (422, "not JSON")
    assert control.get("/requests", params={"since": "noon"}).status_code == 422


def test_what_is_not_there_is_a_404(control: httpx.Client, simulator: RunningSimulator) -> None:
    first, second = (simulator.world.add_series(SeriesSpec(title=title, chapters=1)) for title in "AB")
    elsewhere = f"/series/{first.id}/chapters/{second.uploads[0].id}"
    assert control.post(f"/series/{MISSING}/chapters").status_code == 404
    assert control.delete(f"/series/{MISSING}").status_code == 404
    assert control.delete(elsewhere).status_code == 404
    assert control.patch(elsewhere, json={}).status_code == 404
