from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
import pytest

from simulator.ids import derived_id
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec

YESTERDAY = datetime.now(UTC) - timedelta(days=1)


def test_manga_tells_what_a_follower_needs(simulator: RunningSimulator, api: httpx.Client) -> None:
    spec = SeriesSpec(
        title="The Title",
        chapters=2,
        resets=True,
        status="hiatus",
        content_rating="suggestive",
        languages=("en", "fr"),
        alt_titles=({"fr": "Le titre"},),
        links={"al": "1"},
    )
    series = simulator.world.add_series(spec)
    answer = api.get(f"/manga/{series.id}").json()
    attributes = answer["data"]["attributes"]
    assert (answer["result"], answer["response"], answer["data"]["id"]) == ("ok", "entity", series.id)
    assert attributes["title"] == {"en": "The Title"}
    assert attributes["altTitles"] == [{"fr": "Le titre"}]
    assert attributes["links"] == {"al": "1"}
    assert attributes["chapterNumbersResetOnNewVolume"] is True
    assert (attributes["status"], attributes["contentRating"]) == ("hiatus", "suggestive")
    assert attributes["availableTranslatedLanguages"] == ["en", "fr"]
    assert attributes["latestUploadedChapter"] == series.uploads[-1].id


def test_manga_includes(simulator: RunningSimulator, api: httpx.Client) -> None:
    series = simulator.world.add_series(SeriesSpec(title="A", author="B. Writer"))
    answer = api.get(f"/manga/{series.id}?includes[]=author&includes[]=cover_art").json()
    related = {entry["type"]: entry.get("attributes") for entry in answer["data"]["relationships"]}
    assert related["author"]["name"] == "B. Writer"
    assert related["cover_art"]["fileName"].endswith(".jpg")
    assert related["artist"] is None


def test_manga_list_by_ids_finds_what_there_is(simulator: RunningSimulator, api: httpx.Client) -> None:
    ids = [simulator.world.add_series(SeriesSpec(title=f"S{number}")).id for number in range(3)]
    asked = {"ids[]": [*ids[:2], str(uuid4())], "limit": "100"}
    answer = api.get("/manga", params=asked).json()
    assert {entry["id"] for entry in answer["data"]} == set(ids[:2])
    assert answer["total"] == 2


@pytest.mark.parametrize("path", ["/manga", "/chapter"])
@pytest.mark.parametrize(("parameter", "count", "status"), [("ids[]", 100, 200), ("ids[]", 101, 400)])
def test_at_most_a_hundred_ids(api: httpx.Client, path: str, parameter: str, count: int, status: int) -> None:
    assert api.get(path, params={parameter: [str(uuid4()) for _ in range(count)]}).status_code == status


@pytest.mark.parametrize("path", ["/manga", "/chapter"])
@pytest.mark.parametrize(("limit", "status"), [(0, 200), (100, 200), (101, 400)])
def test_lists_have_at_most_a_hundred(api: httpx.Client, path: str, limit: int, status: int) -> None:
    assert api.get(path, params={"limit": limit}).status_code == status


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("", ["Gamma", "Alpha", "Beta"]),
        ("title=ALPH", ["Alpha"]),
        ("title=zweite", ["Beta"]),
        ("order[title]=desc", ["Gamma", "Beta", "Alpha"]),
        ("order[year]=asc", ["Alpha", "Gamma", "Beta"]),
        ("limit=1&offset=1", ["Alpha"]),
        ("status[]=completed", ["Beta"]),
        ("publicationDemographic[]=josei", ["Gamma"]),
        ("publicationDemographic[]=none&order[title]=asc", ["Alpha", "Beta"]),
        ("originalLanguage[]=ko", ["Alpha"]),
        ("excludedOriginalLanguage[]=ko", ["Gamma", "Beta"]),
        ("availableTranslatedLanguage[]=fr", ["Gamma"]),
        ("contentRating[]=pornographic", ["Hidden"]),
        ("createdAtSince=2099-01-01T00:00:00", []),
    ],
)
def test_manga_list(simulator: RunningSimulator, api: httpx.Client, query: str, titles: list[str]) -> None:
    week = 168
    for spec in [
        SeriesSpec(title="Alpha", chapters=1, release_interval_hours=week, original_language="ko", year=1999),
        SeriesSpec(
            title="Beta",
            chapters=1,
            release_interval_hours=2 * week,
            status="completed",
            year=2020,
            alt_titles=({"de": "Die Zweite"},),
        ),
        SeriesSpec(
            title="Gamma",
            chapters=1,
            release_interval_hours=1,
            languages=("fr",),
            demographic="josei",
            year=2001,
        ),
        SeriesSpec(title="Hidden", content_rating="pornographic"),
    ]:
        simulator.world.add_series(spec)
    answer = api.get(f"/manga?{query}")
    assert answer.status_code == 200, answer.text
    assert [entry["attributes"]["title"]["en"] for entry in answer.json()["data"]] == titles


def test_chapter_list_shows_the_newest_of_all_series(simulator: RunningSimulator, api: httpx.Client) -> None:
    world = simulator.world
    first, second = (world.add_series(SeriesSpec(title=title, chapters=3)) for title in ("A", "B"))
    query = "/chapter?limit=2&order[readableAt]=desc"
    api.get(query)
    released = [world.release(series.id)[0].id for series in (first, second)]
    answer = api.get(query).json()
    assert [entry["id"] for entry in answer["data"]] == released[::-1]
    assert answer["total"] == 8
    assert api.get(f"/chapter?manga={first.id}").json()["total"] == 4
    assert api.get(f"/chapter?manga={uuid4()}").json()["total"] == 0


def test_chapters_by_id(simulator: RunningSimulator, api: httpx.Client) -> None:
    series = simulator.world.add_series(SeriesSpec(title="A", chapters=5))
    ids = [upload.id for upload in series.uploads[1:3]]
    answer = api.get("/chapter", params={"ids[]": [*ids, str(uuid4())], "order[chapter]": "desc"}).json()
    assert [entry["id"] for entry in answer["data"]] == ids[::-1]
    one = api.get(f"/chapter/{ids[0]}?includes[]=scanlation_group").json()
    assert one["data"]["attributes"]["chapter"] == "2"
    simulator.world.withdraw(ids[0])
    assert api.get(f"/chapter/{ids[0]}").status_code == 404
    assert api.get("/chapter", params={"ids[]": ids}).json()["total"] == 1


def test_aggregate_groups_by_volume_and_chapter(simulator: RunningSimulator, api: httpx.Client) -> None:
    uploads = (
        UploadSpec(chapter="1", volume="1", created_at=YESTERDAY),
        UploadSpec(chapter="1", volume="1", groups=("Other",)),
        UploadSpec(chapter="2"),
        UploadSpec(chapter=None, language="fr"),
        UploadSpec(chapter="3", is_unavailable=True),
    )
    series = simulator.world.add_series(SeriesSpec(title="A", chapters=uploads))
    first, other, *_ = (upload.id for upload in series.uploads)
    path = f"/manga/{series.id}/aggregate"
    volumes = api.get(path).json()["volumes"]
    assert list(volumes) == ["none", "1"]
    assert volumes["1"] == {
        "volume": "1",
        "count": 2,
        "chapters": {
            "1": {"chapter": "1", "id": first, "isUnavailable": False, "others": [other], "count": 2}
        },
    }
    assert list(volumes["none"]["chapters"]) == ["none", "2"]
    assert list(api.get(f"{path}?includeUnavailable=1").json()["volumes"]["none"]["chapters"]) == [
        "none",
        "3",
        "2",
    ]
    assert list(api.get(f"{path}?translatedLanguage[]=fr").json()["volumes"]) == ["none"]
    by_other = api.get(f"{path}?groups[]={derived_id('group', 'Other')}").json()["volumes"]
    assert by_other["1"]["chapters"]["1"]["id"] == other


def test_empty_aggregate_is_a_list(simulator: RunningSimulator, api: httpx.Client) -> None:
    series = simulator.world.add_series(SeriesSpec(title="A"))
    assert api.get(f"/manga/{series.id}/aggregate").json() == {"result": "ok", "volumes": []}


@pytest.mark.parametrize(
    "path", ["/manga/{id}", "/manga/{id}/feed", "/manga/{id}/aggregate", "/chapter/{id}", "/nowhere"]
)
def test_what_is_not_there_is_a_404_in_the_sites_form(api: httpx.Client, path: str) -> None:
    answer = api.get(path.format(id=uuid4()))
    (error,) = answer.json()["errors"]
    assert (answer.status_code, answer.json()["result"]) == (404, "error")
    assert (error["status"], error["title"]) == (404, "not_found_http_exception")
    assert {"id", "status", "title", "detail"} <= error.keys()


def test_removed_series_is_a_404(simulator: RunningSimulator, api: httpx.Client) -> None:
    series = simulator.world.add_series(SeriesSpec(title="A", chapters=1))
    assert api.get(f"/manga/{series.id}/feed").status_code == 200
    simulator.world.remove_series(series.id)
    assert api.get(f"/manga/{series.id}/feed").status_code == 404


def test_only_get_is_allowed(api: httpx.Client) -> None:
    assert api.post("/manga").status_code == 405


def test_a_user_agent_is_required(api: httpx.Client) -> None:
    nameless = api.build_request("GET", "/manga")
    del nameless.headers["user-agent"]
    assert api.send(nameless).status_code == 403
    assert api.get("/manga", headers={"User-Agent": ""}).status_code == 403


def test_via_is_refused(api: httpx.Client) -> None:
    assert api.get("/manga", headers={"Via": "1.1 proxy"}).status_code == 400
