from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from simulator.ids import derived_id
from simulator.server import RunningSimulator
from simulator.specs import ContentRating, SeriesSpec, UploadSpec

EARLY = datetime(2026, 1, 1, tzinfo=UTC)
FUTURE = datetime.now(UTC) + timedelta(days=30)

Feed = Callable[..., list[Any]]


def at(days: int) -> datetime:
    return EARLY + timedelta(days=days)


MIXED = SeriesSpec(
    title="Mixed",
    chapters=(
        UploadSpec(chapter="1", volume="1", created_at=at(1), groups=("Alpha",)),
        UploadSpec(chapter="2", volume="1", created_at=at(2), language="fr", title="Deux"),
        UploadSpec(chapter="10", created_at=at(3), updated_at=at(9), groups=("Alpha", "Beta")),
        UploadSpec(chapter="10.5", created_at=at(4), external_url="https://reader.example.org/10"),
        UploadSpec(chapter="3", volume="2", created_at=at(5), uploader="ann"),
        UploadSpec(chapter=None, created_at=at(6), title=""),
        UploadSpec(chapter="4", created_at=at(7), is_unavailable=True),
        UploadSpec(chapter="11", created_at=at(8), publish_at=FUTURE),
        UploadSpec(chapter="12", created_at=at(8), pages=0),
    ),
)
SHOWN = ["1", "2", "10", "10.5", "3", None, "11", "12"]


@pytest.fixture
def series_id(simulator: RunningSimulator) -> str:
    return simulator.world.add_series(MIXED).id


@pytest.fixture
def feed(api: httpx.Client, series_id: str) -> Feed:
    """The chapter numbers of the series' feed, for a query string."""

    def numbers(query: str = "") -> list[Any]:
        answer = api.get(f"/manga/{series_id}/feed?{query}")
        assert answer.status_code == 200, answer.text
        return [entry["attributes"]["chapter"] for entry in answer.json()["data"]]

    return numbers


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", SHOWN),
        ("translatedLanguage[]=fr", ["2"]),
        ("translatedLanguage[]=fr&translatedLanguage[]=de", ["2"]),
        ("translatedLanguage[0]=fr", ["2"]),
        ("originalLanguage[]=ko", []),
        ("excludedOriginalLanguage[]=ja", []),
        ("contentRating[]=erotica", []),
        ("contentRating[]=safe", SHOWN),
        ("includeUnavailable=1", ["1", "2", "10", "10.5", "3", None, "4", "11", "12"]),
        ("includeEmptyPages=1", ["10.5", "12"]),
        ("includeEmptyPages=0", ["1", "2", "10", "3", None, "11"]),
        ("includeExternalUrl=1", ["10.5"]),
        ("includeExternalUrl=0", ["1", "2", "10", "3", None, "11", "12"]),
        ("includeFuturePublishAt=1", ["11"]),
        ("includeFuturePublishAt=0", ["1", "2", "10", "10.5", "3", None, "12"]),
        ("includeFutureUpdates=0", ["1", "2", "10", "10.5", "3", None, "12"]),
        ("includeFutureUpdates=1", SHOWN),
        ("externalUrl=reader.example.org", ["10.5"]),
        ("excludeExternalUrl=reader.example.org", ["1", "2", "10", "3", None, "11", "12"]),
        ("createdAtSince=2026-01-07T00:00:00", [None, "11", "12"]),
        ("updatedAtSince=2026-01-08T00:00:00", ["10", "11", "12"]),
        ("publishAtSince=2026-01-10T00:00:00", ["11"]),
        (f"excludedGroups[]={derived_id('group', 'Beta')}&createdAtSince=2026-01-04T00:00:00", SHOWN[3:]),
        (f"excludedUploaders[]={derived_id('user', 'simulator')}", ["3"]),
    ],
)
def test_filters(feed: Feed, query: str, numbers: list[str | None]) -> None:
    assert feed(query) == numbers
    assert feed(query) == numbers, "the kept result differs from the first"


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("title=deux", ["2"]),
        ("chapter=3", ["3"]),
        ("chapter[]=3&chapter[]=2", ["2", "3"]),
        ("volume[]=2", ["3"]),
        ("volume[]=none&translatedLanguage[]=en&includeEmptyPages=0", ["10", None, "11"]),
        (f"groups[]={derived_id('group', 'Alpha')}", ["1", "10"]),
        (f"uploader={derived_id('user', 'ann')}", ["3"]),
    ],
)
def test_filters_of_the_chapter_list(
    api: httpx.Client, series_id: str, query: str, numbers: list[str | None]
) -> None:
    answer = api.get(f"/chapter?manga={series_id}&{query}").json()
    assert [entry["attributes"]["chapter"] for entry in answer["data"]] == numbers
    assert api.get(f"/manga/{series_id}/feed?{query}").status_code == 400


BY_NUMBER = ["1", "2", "3", "10", "10.5", "11", "12", None]
BY_TIME = ["1", "2", "10", "10.5", "3", None, "11", "12"]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("order[chapter]=asc", BY_NUMBER),
        ("order[chapter]=desc", BY_NUMBER[::-1]),
        ("order[createdAt]=asc", BY_TIME),
        ("order[createdAt]=desc", BY_TIME[::-1]),
        ("order[updatedAt]=desc", ["10", "12", "11", None, "3", "10.5", "2", "1"]),
        ("order[publishAt]=desc", ["11", "12", None, "3", "10.5", "10", "2", "1"]),
        ("order[readableAt]=desc", ["11", "12", None, "3", "10.5", "10", "2", "1"]),
        ("order[volume]=asc&order[chapter]=desc", ["2", "1", "3", None, "12", "11", "10.5", "10"]),
        ("order[volume]=desc&order[chapter]=desc", [None, "12", "11", "10.5", "10", "3", "2", "1"]),
    ],
)
def test_order(feed: Feed, query: str, numbers: list[str | None]) -> None:
    assert feed(query) == numbers


def test_kept_order_follows_release_revision_and_withdrawal(
    simulator: RunningSimulator, feed: Feed, series_id: str
) -> None:
    query = "order[chapter]=desc&translatedLanguage[]=en&limit=3"
    assert feed(query) == [None, "12", "11"]
    added, _ = simulator.world.release(
        series_id, UploadSpec(chapter="11.5"), UploadSpec(chapter="13", language="fr")
    )
    assert feed(query) == [None, "12", "11.5"]
    simulator.world.revise(added.id, UploadSpec(chapter="12.5"))
    assert feed(query) == [None, "12.5", "12"]
    simulator.world.withdraw(added.id)
    assert feed(query) == [None, "12", "11"]


def test_pages_add_up_to_the_whole(simulator: RunningSimulator, api: httpx.Client) -> None:
    series_id = simulator.world.add_series(SeriesSpec(title="Long", chapters=1203)).id
    seen: list[str] = []
    for offset in (0, 500, 1000, 1500):
        answer = api.get(f"/manga/{series_id}/feed?limit=500&offset={offset}&order[chapter]=asc").json()
        assert (answer["limit"], answer["offset"], answer["total"]) == (500, offset, 1203)
        seen += [entry["attributes"]["chapter"] for entry in answer["data"]]
    assert seen == [str(number) for number in range(1, 1204)]


def test_feed_gives_a_hundred_unless_told(simulator: RunningSimulator, api: httpx.Client) -> None:
    series_id = simulator.world.add_series(SeriesSpec(title="Long", chapters=150)).id
    answer = api.get(f"/manga/{series_id}/feed").json()
    assert (answer["result"], answer["response"]) == ("ok", "collection")
    assert (len(answer["data"]), answer["limit"], answer["offset"], answer["total"]) == (100, 100, 0, 150)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=501",
        "limit=ten",
        "offset=-1",
        "translatedLanguage[]=english",
        "contentRating[]=tame",
        "order[chapter]=up",
        "order[pages]=asc",
        "createdAtSince=2026-01-01T00:00:00Z",
        "createdAtSince=2026-02-31T00:00:00",
        "includeEmptyPages=2",
        "includeUnavailable=yes",
        "includes[]=cover_art",
        "excludedGroups[]=not-a-uuid",
        "translatedLang[]=en",
    ],
)
def test_wrong_parameters_are_a_400(api: httpx.Client, series_id: str, query: str) -> None:
    answer = api.get(f"/manga/{series_id}/feed?{query}")
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert (answer.json()["result"], error["status"]) == ("error", 400)
    assert error["detail"].startswith("Error validating /")


def test_result_window_ends_at_ten_thousand(api: httpx.Client, series_id: str) -> None:
    assert api.get(f"/manga/{series_id}/feed?limit=500&offset=9500").json()["data"] == []
    answer = api.get(f"/manga/{series_id}/feed?limit=500&offset=9501")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["detail"].startswith("Result window is too large")


@pytest.mark.parametrize(
    ("rating", "query", "count"),
    [
        ("pornographic", "", 0),
        ("pornographic", "contentRating[]=pornographic", 1),
        ("erotica", "", 1),
        ("erotica", "contentRating[]=safe", 0),
    ],
)
def test_pornographic_series_are_shown_when_asked_for(
    simulator: RunningSimulator, api: httpx.Client, rating: ContentRating, query: str, count: int
) -> None:
    series_id = simulator.world.add_series(SeriesSpec(title="A", chapters=1, content_rating=rating)).id
    assert api.get(f"/manga/{series_id}/feed?{query}").json()["total"] == count


def test_includes_expand_relationships(api: httpx.Client, series_id: str) -> None:
    def expanded(query: str) -> dict[str, Any]:
        entry = api.get(f"/manga/{series_id}/feed?updatedAtSince=2026-01-10T00:00:00&{query}").json()["data"][
            0
        ]
        return {related["type"]: related.get("attributes") for related in entry["relationships"]}

    assert expanded("") == {"scanlation_group": None, "manga": None, "user": None}
    assert expanded("includes[]=scanlation_group")["scanlation_group"]["name"] == "Beta"
    everything = expanded(urlencode({"includes[]": ["manga", "user", "scanlation_group"]}, doseq=True))
    assert everything["manga"]["title"] == {"en": "Mixed"}
    assert everything["user"]["username"] == "simulator"


def test_expanded_series_is_never_stale(
    simulator: RunningSimulator, api: httpx.Client, series_id: str
) -> None:
    for _ in range(2):
        newest = simulator.world.release(series_id)[0]
        entry = api.get(f"/manga/{series_id}/feed?includes[]=manga&limit=1").json()["data"][0]
        manga = next(related for related in entry["relationships"] if related["type"] == "manga")
        assert manga["attributes"]["latestUploadedChapter"] == newest.id


def test_times_have_whole_seconds_and_an_offset(api: httpx.Client, series_id: str) -> None:
    attributes = api.get(f"/manga/{series_id}/feed?updatedAtSince=2026-01-10T00:00:00").json()["data"][0][
        "attributes"
    ]
    assert attributes["createdAt"] == "2026-01-04T00:00:00+00:00"
    assert attributes["updatedAt"] == "2026-01-10T00:00:00+00:00"
