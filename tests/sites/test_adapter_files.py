"""Adapter files that are wrong: told what and where, and nothing else goes down (C13, X7, O8)."""

from typing import Any

import pytest

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.net.ssrf import HostGuard
from fascicle.sites.base import Sites
from fascicle.sites.declarative import Surroundings, build_site, load_folder
from tests.sites.bench import Bench

WRONG_FILES = [
    ({"name": "Ink Pages"}, "name: String should match pattern"),
    ({"base_url": "inkpages.example"}, "base_url: 'inkpages.example' is not a web address"),
    ({"match": "inkpages/comic/(.*)"}, "match.0: name the series' key: (?P<key>...)"),
    ({"match": "("}, "match.0: '(' is not a regular expression"),
    ({"match": []}, "match: Value should have at least 1 item"),
    ({"series": None}, "series: is missing"),
    ({"lists": {}}, "lists: is no known entry; docs/adapters.md lists them"),
    ({"series__title": "h1[["}, "series.title.css: 'h1[[' is not a CSS selector"),
    ({"series__title": {"json": "$.["}}, "series.title.json: '$.[' is not a JSON path"),
    ({"series__title": {"css": "h1", "json": "$.a"}}, "series.title: say where it is"),
    ({"series__title": {"css": "h1", "regexp": "x"}}, "series.title.regexp: is no known entry"),
    ({"list__url": "comics/{key}"}, "list.url: must begin with / (below base_url) or https://"),
    ({"list__url": "/comic/{id}/{page}"}, "list.url: {id} means nothing here"),
    ({"list__url": "/comic/{page}"}, "list.url: needs {key}"),
    ({"list__url": "/comic/{key}"}, "list: the address /comic/{key} needs {page}: paging is by page"),
    ({"list__paging": None}, "must not have {page}: there is no paging"),
    ({"list__oldest_first_url": "/comic/{key}/old"}, "/old needs {page}"),
    ({"list__fields__id": "$.id"}, "`items` is CSS, but fields.id is a JSON path"),
    ({"list__fields__url": None}, "list.fields.url: is missing"),
    (
        {"list__fields__url": {"css": "a", "template": "/r"}},
        "list.fields.url: `template` needs {value} in it",
    ),
    ({"list__paging": {"by": "link"}}, "list.paging: `next` says where the next page is"),
    ({"list__paging": {"by": "page", "max_pages": 9999}}, "less than or equal to 500"),
    (
        {"list__paging": {"by": "page"}, "list__container": None},
        "paging by page needs `paging.more` or `container`",
    ),
    ({"latest__url": "/latest/{key}/{page}"}, "latest.url: is one list for all series"),
    ({"gate": 0.1}, "gate: 0.1 s between requests is too short, use 0.5 or more"),
    ({"gate": -1}, "gate: Input should be greater than or equal to 0"),
    ({"gate": float("nan")}, "gate: Input should be a finite number"),
    ({"gate": float("inf")}, "gate: Input should be a finite number"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG_FILES)
def test_x7_a_wrong_file_is_told_what_is_wrong_and_where(
    bench: Bench, changes: dict[str, Any], words: str
) -> None:
    file = bench.write("inkpages", **changes)
    with pytest.raises(UsageError) as wrong:
        build_site(bench.http, bench.sandbox, file, Surroundings({}, HostGuard()))
    assert wrong.value.code == "adapter_broken"
    assert words in wrong.value.message
    assert str(file) in wrong.value.message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name: [", "is not YAML"),
        (b"\xff\xfe\x00", "is not YAML"),
        (b"- a\n- b", "should be entries"),
        (b"", "should be entries"),
        (b"name: x\n" * 20_000, "is larger than"),
        (b"name: 2026-99-99", "is not YAML"),
    ],
)
def test_x7_what_is_no_adapter_at_all_is_told_so(bench: Bench, content: bytes, words: str) -> None:
    file = bench.folder / "odd.yaml"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        build_site(bench.http, bench.sandbox, file, bench.surroundings)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("URL", "nonsense", "FASCICLE_SITE_INKPAGES_URL: 'nonsense' is not a web address"),
        ("INTERVAL_SECONDS", "0.1", "FASCICLE_SITE_INKPAGES_INTERVAL_SECONDS: 0.1 s between requests is too"),
        ("INTERVAL_SECONDS", "inf", "FASCICLE_SITE_INKPAGES_INTERVAL_SECONDS must be a number"),
        ("INTERVAL_SECONDS", "fast", "FASCICLE_SITE_INKPAGES_INTERVAL_SECONDS must be a number"),
    ],
)
def test_o8_wrong_variables_are_named(bench: Bench, variable: str, value: str, words: str) -> None:
    surroundings = Surroundings({f"FASCICLE_SITE_INKPAGES_{variable}": value}, HostGuard())
    with pytest.raises(UsageError) as wrong:
        build_site(bench.http, bench.sandbox, bench.write("inkpages"), surroundings)
    assert words in wrong.value.message


def test_a_broken_file_takes_nothing_else_down(bench: Bench) -> None:
    bench.write("inkpages", list=None)
    bench.write("panelbox")
    (bench.folder / "twin.yml").write_text((bench.folder / "panelbox.yaml").read_text())
    (bench.folder / "scrambled.yaml").write_text("{")
    (bench.folder / "notes.txt").write_text("not an adapter")
    (bench.folder / "folder.yaml").mkdir()
    (bench.folder / "lost.yaml").symlink_to(bench.folder / "nowhere")
    found, broken = load_folder(
        bench.http, bench.sandbox, bench.folder, bench.surroundings, taken=["mangadex"]
    )
    assert [site.name for site in found] == ["panelbox"]
    assert {adapter.name for adapter in broken} == {"inkpages", "panelbox", "scrambled", "folder", "lost"}
    sites = Sites(found, broken)
    assert sites.named("panelbox") is found[0], "the first file of a name wins"
    with pytest.raises(PermanentError) as refused:
        sites.named("inkpages")
    assert (refused.value.code, "list: is missing" in refused.value.message) == ("adapter_broken", True)
    with pytest.raises(UsageError, match="Broken: folder, inkpages"):
        sites.recognise("https://inkpages.example/comic/lanterns")


def test_no_folder_no_adapters(bench: Bench) -> None:
    assert load_folder(bench.http, bench.sandbox, bench.folder / "none", bench.surroundings) == ([], [])
