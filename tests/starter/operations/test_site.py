"""`fascicle site …`: which sites there are, and trying an adapter out, with and without a stack (C13, X7)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fascicle.storage.database import open_engine, transaction
from fascicle.storage.operations import overview
from simulator.faults import Fault
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec, UploadSpec
from tests.harness import ADAPTERS, adapter_variables
from tests.starter.commandline import Outcome
from tests.starter.conftest import Desk, Running

INKPAGES = str(ADAPTERS / "inkpages.yaml")


@pytest.fixture
def env(simulator: RunningSimulator) -> dict[str, str]:
    return {"FASCICLE_ALLOW_HOSTS": "127.0.0.1", **adapter_variables(simulator)}


@pytest.fixture
def page(simulator: RunningSimulator) -> str:
    """The address of a series of 25 chapters, one of them called oddly."""
    series = simulator.world.add_series(
        SeriesSpec(title="Tea [bold]&[/] Rain", chapters=24, sites=("inkpages",))
    )
    simulator.world.release(series.id, UploadSpec(chapter=None, title="Oneshot [/red]"))
    return simulator.pages(series)["inkpages"]


def changed(folder: Path, **fields: Any) -> str:
    """InkPages' adapter with other fields of its list."""
    content = yaml.safe_load(Path(INKPAGES).read_text())
    content["list"]["fields"] |= fields
    file = folder / "changed.yaml"
    file.write_text(yaml.safe_dump(content))
    return str(file)


def test_o5_sites_are_listed_and_broken_adapters_say_why(desk: Desk, env: dict[str, str]) -> None:
    folder = desk.folder / "sites.d"
    folder.mkdir()
    (folder / "inkpages.yaml").write_text(Path(INKPAGES).read_text())
    (folder / "odd.yaml").write_text("name: odd-one\n")
    listed = {row["site"]: row for row in desk.fascicle("site", "list", "--json", **env).json()}
    assert listed["inkpages"]["file"] == "sites.d/inkpages.yaml"
    assert (listed["inkpages"]["kind"], listed["inkpages"]["sweep"]) == ("adapter", True)
    assert (listed["mangaplus"]["kind"], listed["mangaplus"]["gate_seconds"]) == ("built in", 1.0)
    assert "base_url: is missing" in listed["odd-one"]["error"]
    assert "sites.d/odd.yaml is no usable adapter" in desk.fascicle("site", "list", **env).said()
    assert "odd.yaml" in desk.fascicle("doctor", **env).said()


def test_c13_site_test_shows_what_an_adapter_finds(desk: Desk, env: dict[str, str], page: str) -> None:
    shown = desk.fascicle("site", "test", INKPAGES, page, **env)
    assert shown.code == 0, shown
    assert "Tea [bold]&[/] Rain" in shown.out
    assert "20 rows on 1 page, 25 in all; more follow (--pages)" in shown.said()
    assert "Oneshot [/red]" in shown.out
    assert "20 entries on the first page of what is new" in shown.said()
    found = desk.fascicle("site", "test", INKPAGES, page, "--pages", "9", "--json", **env).json()
    assert [c["key"] for c in found["chapters"][1:]] == [str(number) for number in range(24, 0, -1)]
    assert found["chapters"][0]["key"].startswith("x:")
    assert (found["pages"], found["rows"], found["more"], found["skipped"]) == (2, 25, False, {})


def test_c13_site_test_warns_of_skipped_rows_and_empty_fields(
    desk: Desk, env: dict[str, str], page: str
) -> None:
    numbered = {"css": "a", "regex": "Chapter ([0-9]+)"}
    file = changed(desk.folder, id=numbered, volume="b.volume")
    said = desk.fascicle("site", "test", file, page, **env).said()
    assert "1 row skipped: id (a) is not there" in said
    assert "list.fields.volume is never filled" in said
    assert "list.fields.group" not in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("README", "https://inkpages.example/comic/x"), "README cannot be read: No such file"),
        ((INKPAGES, "https://elsewhere.example/comic/x"), "`match` does not fit"),
        ((INKPAGES, "nonsense"), "is not a web address"),
        ((INKPAGES,), "Missing argument 'url'"),
        ((INKPAGES, "https://inkpages.example/comic/x", "--pages", "0"), "--pages"),
    ],
)
def test_x7_wrong_usage_is_told_so(
    desk: Desk, env: dict[str, str], arguments: tuple[str, ...], words: str
) -> None:
    _assert_refused(desk.fascicle("site", "test", *arguments, **env), 2, words)


def test_x7_a_fetch_that_fails_is_a_failure(
    desk: Desk, env: dict[str, str], page: str, simulator: RunningSimulator
) -> None:
    wrong = changed(desk.folder, id="b.gone")
    _assert_refused(desk.fascicle("site", "test", wrong, page, **env), 1, "id (b.gone) is not there")
    simulator.faults.add(Fault(path="/inkpages", status=404))
    _assert_refused(desk.fascicle("site", "test", INKPAGES, page, **env), 1, "answered 404")
    blocked = {**env, "FASCICLE_ALLOW_HOSTS": "", "FASCICLE_SITE_INKPAGES_INTERVAL_SECONDS": "1"}
    _assert_refused(desk.fascicle("site", "test", INKPAGES, page, **blocked), 1, "FASCICLE_ALLOW_HOSTS")


def _assert_refused(outcome: Outcome, code: int, words: str) -> None:
    assert outcome.code == code, outcome
    assert words in outcome.said()
    assert "Traceback" not in outcome.said()


async def test_x4_with_a_database_its_gates_are_used(
    desk: Desk, env: dict[str, str], page: str, database_url: str
) -> None:
    outcome = desk.fascicle("site", "test", INKPAGES, page, **env, DATABASE_URL=database_url)
    assert outcome.code == 0, outcome
    engine = open_engine(database_url)
    async with transaction(engine) as connection:
        assert [gate["name"] for gate in await overview.gates(connection)] == ["inkpages"]
    await engine.dispose()


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (("Chapter 012.50: Rain",), "12.5"),
        (("Oneshot",), "none"),
        (("Room 101 Chapter 3", "--series", "Room 101"), "3"),
    ],
)
def test_c5_site_key_tells_the_key_of_a_title(desk: Desk, arguments: tuple[str, ...], key: str) -> None:
    assert desk.fascicle("site", "key", *arguments).out.strip() == key
    told = desk.fascicle("site", "key", *arguments, "--json").json()
    assert told == {"title": arguments[0], "key": None if key == "none" else key}


def test_o5_the_cli_knows_the_folders_of_the_stack_wherever_it_is_used(
    running: Running, tmp_path: Path
) -> None:
    elsewhere = Desk(tmp_path, running.desk.env, running.desk.commands)
    shown = elsewhere.json("config")
    assert shown["FASCICLE_SITES_DIR"] == str(running.desk.folder / "sites.d")
    assert shown["FASCICLE_FILES_DIR"] == str(running.desk.folder / "art")


def test_c15_a_site_is_paused_and_resumed_by_a_word(running: Running) -> None:
    assert running.fascicle("site", "pause", "weebcentral", "--reason", "they asked").code == 0
    assert running.fascicle("site", "pause", "weebcentral").code == 0, "and says no other reason"
    gates = {gate["name"]: gate for gate in running.json("status")["gates"]}
    assert gates["weebcentral"]["paused_reason"] == "paused: they asked (fascicle site resume weebcentral)"
    assert "weebcentral is paused: they asked" in running.fascicle("status").said()
    assert running.json("site", "resume", "weebcentral") == {
        "site": "weebcentral", "paused": False, "was_paused": True,
    }  # fmt: skip
    assert "was not paused" in running.fascicle("site", "resume", "weebcentral").said()
    refused = running.fascicle("site", "pause", "nowhere")
    assert (refused.code, "There is no site 'nowhere'" in refused.said()) == (2, True)


def test_c15_feeds_are_paused_before_there_is_one(running: Running) -> None:
    for kind in ("feed", "page", "deviantart"):
        assert running.fascicle("site", "pause", kind).code == 0
        assert running.json("site", "resume", kind)["was_paused"]
