"""Whether the simulated MangaDex answers as MangaDex says it does, and as it was seen to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from openapi_schema_validator import OAS30Validator, oas30_format_checker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "manga"
OPENAPI_FILE = FIXTURES / "mangadex_openapi_5.13.1.yaml"

pytestmark = pytest.mark.skipif(
    not OPENAPI_FILE.exists(), reason=f"the recorded MangaDex answers are not on this machine ({FIXTURES})"
)

SERIES = SeriesSpec(
    title="As Specified",
    chapters=(
        UploadSpec(chapter="1", volume="1", title="One"),
        UploadSpec(chapter="1", volume="1", groups=("Second", "Third")),
        UploadSpec(chapter="10.5", external_url="https://reader.example.org/10"),
        UploadSpec(chapter=None, language="pt-br"),
    ),
    alt_titles=({"fr": "Comme convenu"},),
    description={"en": "A series."},
    links={"al": "1"},
    year=2026,
    demographic="josei",
    tags=("Drama",),
)
MISSING = "00000000-0000-4000-8000-000000000000"
EXAMPLES = {
    "limit": "1",
    "offset": "1",
    "includeUnavailable": "1",
    "year": "2026",
    "createdAtSince": "2026-01-01T00:00:00",
    "updatedAtSince": "2026-01-01T00:00:00",
    "publishAtSince": "2026-01-01T00:00:00",
    "includes[]": "manga",
}

RECORDED = [
    ("mangadex_manga_bleach.json", "/manga/{id}"),
    ("mangadex_manga_search_chainsaw.json", "/manga"),
    ("mangadex_feed_chainsawman_en_mixed_external.json", "/manga/{id}/feed"),
    ("mangadex_feed_multilang_excerpt.json", "/manga/{id}/feed"),
    ("mangadex_aggregate_bleach_en.json", "/manga/{id}/aggregate"),
]
OPEN_MAPS = (".title", ".altTitles[]", ".description", ".name", ".links", ".volumes", ".chapters")

# The simulated series are not related to each other.
NOT_SIMULATED = {".data.relationships[].related", ".data[].relationships[].related"}
MANGA_PARAMETERS_NOT_SIMULATED = {
    *("authorOrArtist", "authors[]", "artists[]", "group", "year"),
    *("includedTags[]", "includedTagsMode", "excludedTags[]", "excludedTagsMode"),
    *("hasAvailableChapters", "hasUnavailableChapters"),
    *("order[followedCount]", "order[rating]"),
}


@pytest.fixture(scope="module")
def specification() -> dict[str, Any]:
    specification: dict[str, Any] = yaml.safe_load(OPENAPI_FILE.read_text())
    schemas = specification["components"]["schemas"]
    # Slips that the recorded answers contradict: the pattern is meant for the names of languages, not for the
    # texts; series without official links have null there; an enumeration that is nullable must list null.
    del schemas["LocalizedString"]["additionalProperties"]["pattern"]
    manga = schemas["MangaAttributes"]["properties"]
    manga["officialLinks"]["nullable"] = True
    manga["publicationDemographic"]["enum"].append(None)
    return specification


@pytest.fixture(scope="module")
def simulator() -> Iterator[RunningSimulator]:
    with RunningSimulator() as simulator:
        simulator.world.add_series(SERIES)
        yield simulator


@pytest.fixture(scope="module")
def api(simulator: RunningSimulator) -> Iterator[httpx.Client]:
    headers = {"User-Agent": "tests"}
    with httpx.Client(base_url=simulator.mangadex_url, headers=headers, trust_env=False) as client:
        yield client


def filled_in(path: str, simulator: RunningSimulator) -> str:
    """The path with the id of the series, or of its first upload, in its place."""
    (series,) = simulator.world.series.values()
    return path.replace("{id}", series.uploads[0].id if path.startswith("/chapter") else series.id)


def problems(specification: dict[str, Any], path: str, status: int, answer: Any) -> list[str]:
    """How an answer differs from the schema of the path's answers with that status."""
    registry = Registry().with_resource("openapi", Resource.from_contents(specification, DRAFT4))
    escaped = path.replace("/", "~1")
    pointer = f"openapi#/paths/{escaped}/get/responses/{status}/content/application~1json/schema"
    validator = OAS30Validator({"$ref": pointer}, registry=registry, format_checker=oas30_format_checker)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(answer)]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/manga/{id}", ""),
        ("/manga/{id}", "?includes[]=author&includes[]=artist&includes[]=cover_art&includes[]=creator"),
        ("/manga", ""),
        ("/manga/{id}/feed", ""),
        ("/manga/{id}/feed", "?includes[]=scanlation_group&includes[]=manga&includes[]=user"),
        ("/chapter", ""),
        ("/chapter/{id}", ""),
        ("/manga/{id}/aggregate", ""),
    ],
)
def test_answers_are_as_specified(
    specification: dict[str, Any], simulator: RunningSimulator, api: httpx.Client, path: str, query: str
) -> None:
    answer = api.get(filled_in(path, simulator) + query)
    assert answer.status_code == 200
    assert answer.json().get("data") or answer.json().get("volumes")
    assert problems(specification, path, 200, answer.json()) == []


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/manga/{id}/feed", "?limit=501", 400),
        ("/manga/{id}/feed", "?limit=500&offset=9999", 400),
        ("/chapter", "?limit=101", 400),
        ("/manga", "?limit=101", 400),
        ("/manga/{id}", "", 404),
        ("/chapter/{id}", "", 404),
    ],
)
def test_errors_are_as_specified(
    specification: dict[str, Any],
    simulator: RunningSimulator,
    api: httpx.Client,
    path: str,
    query: str,
    status: int,
) -> None:
    real_path = path.replace("{id}", MISSING) if status == 404 else filled_in(path, simulator)
    answer = api.get(real_path + query)
    assert answer.status_code == status
    assert answer.json()["errors"]
    assert problems(specification, path, status, answer.json()) == []


@pytest.mark.parametrize("schema", ["ScanlationGroupAttributes", "UserAttributes", "MangaAttributes"])
def test_expanded_attributes_are_as_specified(
    specification: dict[str, Any], simulator: RunningSimulator, api: httpx.Client, schema: str
) -> None:
    query = "?includes[]=scanlation_group&includes[]=manga&includes[]=user"
    answer = api.get(filled_in("/chapter/{id}", simulator) + query).json()
    kinds = {
        "ScanlationGroupAttributes": "scanlation_group",
        "UserAttributes": "user",
        "MangaAttributes": "manga",
    }
    related = {entry["type"]: entry["attributes"] for entry in answer["data"]["relationships"]}
    registry = Registry().with_resource("openapi", Resource.from_contents(specification, DRAFT4))
    validator = OAS30Validator({"$ref": f"openapi#/components/schemas/{schema}"}, registry=registry)
    assert [error.message for error in validator.iter_errors(related[kinds[schema]])] == []


@pytest.mark.parametrize(("file", "path"), RECORDED)
def test_recorded_answers_are_as_specified(specification: dict[str, Any], file: str, path: str) -> None:
    """Shows that what was changed in the specification was wrong in it, not in the simulator."""
    assert problems(specification, path, 200, json.loads((FIXTURES / file).read_text())) == []


@pytest.mark.parametrize(("file", "path"), RECORDED)
def test_recorded_answers_have_nothing_the_simulator_lacks(
    simulator: RunningSimulator, api: httpx.Client, file: str, path: str
) -> None:
    query = "?includes[]=cover_art" if path == "/manga" else ""
    simulated = api.get(filled_in(path, simulator) + query).json()
    recorded = json.loads((FIXTURES / file).read_text())
    assert set(key_paths(recorded)) - set(key_paths(simulated)) - NOT_SIMULATED == set()


@pytest.mark.parametrize("schema", ["MangaAttributes", "ChapterAttributes"])
def test_every_specified_attribute_is_there(
    specification: dict[str, Any], simulator: RunningSimulator, api: httpx.Client, schema: str
) -> None:
    path = "/manga/{id}" if schema == "MangaAttributes" else "/chapter/{id}"
    attributes = api.get(filled_in(path, simulator)).json()["data"]["attributes"]
    # The recorded chapters have their uploader among the relationships, and so have ours.
    assert specification["components"]["schemas"][schema]["properties"].keys() - attributes.keys() <= {
        "uploader"
    }


@pytest.mark.parametrize("path", ["/manga/{id}/feed", "/chapter", "/manga", "/manga/{id}/aggregate"])
def test_every_specified_parameter_is_known(
    specification: dict[str, Any], simulator: RunningSimulator, api: httpx.Client, path: str
) -> None:
    refused = set()
    for parameter in specification["paths"][path]["get"]["parameters"]:
        for name, value in example_values(parameter):
            answer = api.get(filled_in(path, simulator), params={name: value})
            if answer.status_code != 200:
                refused.add(name)
    assert refused == (MANGA_PARAMETERS_NOT_SIMULATED if path == "/manga" else set())


def key_paths(value: Any, path: str = "") -> Iterator[str]:
    """Where the keys of a JSON document are; items of lists share a place, and so do languages and links."""
    if isinstance(value, list):
        for item in value:
            yield from key_paths(item, f"{path}[]")
    elif isinstance(value, dict):
        for key, item in value.items():
            if path.endswith(OPEN_MAPS):
                key = "*"
            yield f"{path}.{key}"
            yield from key_paths(item, f"{path}.{key}")


def example_values(parameter: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A parameter's names (those of `order` have one for each field) with a value it may have."""
    schema = parameter["schema"]
    if parameter["name"] == "order":
        yield from ((f"order[{field}]", "asc") for field in schema["properties"])
        return
    schema = schema.get("items") or schema.get("oneOf", [schema])[0]
    if "enum" in schema:
        value = str(schema["enum"][0])
    elif schema.get("format") == "uuid":
        value = MISSING
    else:
        value = EXAMPLES.get(parameter["name"], "en")
    yield parameter["name"], value
