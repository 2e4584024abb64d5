"""C14: a file of series becomes sources, in few requests, resumable, silent, nothing guessed."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from copy import copy
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError

from fascicle.imports.csv_table import parse_csv
from fascicle.imports.reading import Format, ImportFile, read_import
from fascicle.imports.wanted import Wanted
from fascicle.services.series import series_import as importing
from fascicle.services.series import series_lookup as asking
from fascicle.services.series.series_import import Importer, Report
from fascicle.sites.base import ChapterSite, Sites
from fascicle.storage.database import transaction
from fascicle.storage.series import library
from simulator.faults import Fault
from simulator.specs import SeriesSpec
from starter.series import import_command, import_progress
from starter.series.import_progress import ProgressBar, ProgressLines
from tests.harness import Harness
from tests.imports.examples import ELSEWHERE, chapters, manga, tachibk
from tests.starter.conftest import Running

URL = "https://mangadex.org/title/"
NOWHERE = "00000000-0000-4000-8000-000000000000"


class Shown:
    """A display that remembers."""

    def __init__(self) -> None:
        self.finished = self.rows = 0
        self.waits: list[tuple[str, float]] = []
        self.on_settled: Callable[[], None] = lambda: None

    def start(self, total: int, finished: int) -> None:
        self.finished = finished

    def settled(self) -> None:
        self.rows += 1
        self.on_settled()

    def waiting(self, site: str, seconds: float) -> None:
        self.waits.append((site, seconds))


def batch(*wanted: Wanted) -> ImportFile:
    return ImportFile(Format.URLS, list(wanted), (), digest=hashlib.sha256(repr(wanted).encode()).hexdigest())


def by_url(*keys: str) -> ImportFile:
    return batch(*(Wanted(url=URL + key) for key in keys))


def importer(harness: Harness, file: ImportFile, display: Shown | None = None, **options: Any) -> Importer:
    return Importer(harness.dependencies, harness.client, file, display or Shown(), **options)


async def counted(harness: Harness, file: ImportFile, **options: Any) -> tuple[int, int, int, int]:
    report = await importer(harness, file, **options).run()
    return report.added, report.present, len(report.doubtful), len(report.failed)


def requests(harness: Harness) -> list[str]:
    return [request.path for request in harness.simulator.requests.matching("/mangadex")]


async def ann(harness: Harness) -> str:
    async with transaction(harness.dependencies.engine) as connection:
        return (await library.add_user(connection, "ann"))[0]


async def read_numbers(harness: Harness) -> dict[str, Any]:
    rows = await harness.rows(
        "select series.title, read_number from library_entry join series on series.id = series_id"
    )
    return {row["title"]: row["read_number"] for row in rows}


async def test_c14_many_series_cost_one_request_and_a_second_time_none(harness: Harness) -> None:
    keys = [harness.series(f"Series {n}", chapters=0).id for n in range(30)]
    file = by_url(*keys, keys[0].upper())
    assert await counted(harness, file) == (30, 1, 0, 0)
    for source in await harness.rows("select id from source"):
        assert (await harness.workflow(source).describe()).status is WorkflowExecutionStatus.RUNNING
    assert await counted(harness, file) == (0, 31, 0, 0)
    assert await counted(harness, by_url(*keys[:20])) == (0, 20, 0, 0)
    assert requests(harness) == ["/mangadex/manga"], "what is known needs no request"


async def test_c14_an_interrupted_import_goes_on_where_it_was(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 10)
    keys = [harness.series(f"Series {n}", chapters=0).id for n in range(30)]
    shown = Shown()
    running = asyncio.create_task(importer(harness, by_url(*keys), shown).run())

    def stop_in_the_middle() -> None:
        if shown.rows == 12:
            running.cancel()

    shown.on_settled = stop_in_the_middle
    with pytest.raises(asyncio.CancelledError):
        await running
    before = len(requests(harness))
    again = Shown()
    report = await importer(harness, by_url(*keys), again).run()
    assert again.finished >= 11
    assert report.added + report.present == 30
    assert len(requests(harness)) - before <= 2, "finished batches are not asked for again"
    assert await harness.value("select count(*) from source") == 30


async def test_c14_one_bad_row_does_not_stop_the_rest(harness: Harness) -> None:
    good = harness.series("Good")
    file = by_url(NOWHERE, good.id, "not-a-uuid")
    odd = [Wanted(url="nonsense"), Wanted(url="https://mangapark.net/title/1"), Wanted()]
    report = await importer(harness, batch(*file.wanted, *odd)).run()
    assert (report.added, len(report.doubtful)) == (1, 1)
    reasons = {row["position"]: row["why"] for row in report.failed}
    assert "no such series" in reasons[0]
    assert "No known site" in reasons[2]
    assert "not a web address" in reasons[3]
    assert "closed in January 2026" in reasons[4]
    harness.simulator.world.add_series(good.about.model_copy(update={"id": NOWHERE, "title": "Late"}))
    assert (await importer(harness, batch(*file.wanted, *odd)).run()).added == 1, (
        "failed rows are tried again"
    )


async def test_c14_titles_are_matched_by_id_or_name_and_never_guessed(harness: Harness) -> None:
    harness.series("Lanterns", links={"al": "7", "mal": "70"})
    harness.series("Lanterns at Sea", alt_titles=({"fr": "Lanternes en mer"},))
    harness.series("Twins", description={"en": "one"}, id=NOWHERE)
    harness.series("Twins")
    report = await importer(
        harness,
        batch(
            Wanted("Lantern", anilist_id="7"),
            Wanted("LANTERNES en mer!", url="https://elsewhere.example/9"),
            Wanted("Twins", mal_id="5", read=Decimal(3)),
            Wanted("Nobody knows it"),
            Wanted("Unknown there", other_titles=("Lanterns",), mal_id="70"),
        ),
    ).run()
    assert (report.added, report.present, report.failed) == (2, 1, [])
    assert [row["title"] for row in report.doubtful] == ["Twins", "Nobody knows it"]
    assert "2 series are called so" in report.doubtful[0]["why"]
    assert {choice["title"] for choice in report.doubtful[0]["candidates"]} == {"Twins"}


async def test_c14_what_was_read_is_recorded_and_only_ever_raised(harness: Harness, tmp_path: Path) -> None:
    dex, seasons = harness.series("Dex"), harness.series("Seasons", resets=True)
    harness.series("Elsewhere Too")
    user = await ann(harness)
    path = tmp_path / "a.tachibk"
    series = [
        manga("Dex", f"/manga/{dex.id}", chapters=chapters(1, 2, 2.5)),
        manga("Seasons", f"/manga/{seasons.id}", chapters=chapters(6)),
        manga("Elsewhere, too", "/x/1", ELSEWHERE),
    ]
    path.write_bytes(tachibk(*series))
    file = read_import(path, Format.AUTO, bool)
    assert await counted(harness, file) == (3, 0, 0, 0), "without a user, only sources"
    assert await read_numbers(harness) == {}
    assert await counted(harness, file, user_id=user) == (0, 3, 0, 0)
    assert await read_numbers(harness) == {"Dex": Decimal("2.5"), "Seasons": None, "Elsewhere Too": None}
    for read in ("1", "40"):
        await importer(harness, batch(Wanted(url=URL + dex.id, read=Decimal(read))), user_id=user).run()
        expected = max(Decimal("2.5"), Decimal(read))
        assert (await read_numbers(harness))["Dex"] == expected


async def test_c14_waits_are_slept_through_and_failures_tried_again(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = harness.series("Patience")
    harness.simulator.faults.add(Fault(path="/mangadex/manga", status=429, retry_after=1, count=1))
    shown = Shown()
    assert (await importer(harness, by_url(series.id), shown).run()).added == 1
    assert [site for site, _ in shown.waits] == ["mangadex"]
    monkeypatch.setattr(asking, "_ATTEMPTS", 2)
    harness.simulator.faults.add(Fault(path="/mangadex/manga", status=503))
    report = await importer(harness, batch(Wanted("Patience"), Wanted(url=URL + NOWHERE))).run()
    assert {row["code"] for row in report.failed} == {"server_error"}


class OneByOne:
    """MangaDex as a site that tells of one series at a time."""

    def __init__(self, site: ChapterSite) -> None:
        self.name, self.recognise, self.series = site.name, site.recognise, site.series


async def test_c14_a_site_without_lists_is_asked_for_each_series(harness: Harness) -> None:
    site = OneByOne(harness.dependencies.sites.named("mangadex"))
    plain = copy(harness.dependencies)
    plain.sites = Sites([site])  # type: ignore[list-item]
    keys = [harness.series(title).id for title in ("One", "Two")]
    file = by_url(*keys, NOWHERE, keys[0])
    report = await Importer(plain, harness.client, file, Shown()).run()
    assert (report.added, report.present, len(report.failed)) == (2, 1, 1)
    assert len(requests(harness)) == 3


async def test_x1_sources_that_got_no_workflow_get_one_the_next_time(harness: Harness) -> None:
    keys = [harness.series(f"Series {n}", chapters=0).id for n in range(3)]
    elsewhere = Client(
        harness.client.service_client, namespace="nonsense", data_converter=pydantic_data_converter
    )
    with pytest.raises(RPCError):
        await Importer(harness.dependencies, elsewhere, by_url(*keys), Shown()).run()
    shown = Shown()
    report = await importer(harness, by_url(*keys), shown).run()
    assert (shown.finished, report.added + report.present) == (0, 3)
    for source in await harness.rows("select id from source"):
        assert (await harness.workflow(source).describe()).status is WorkflowExecutionStatus.RUNNING


async def test_c14_a_removed_source_comes_back(harness: Harness) -> None:
    source = await harness.add(harness.series())
    file = by_url(source["site_key"])
    assert await counted(harness, file) == (0, 1, 0, 0)
    await harness.execute("update source set removed_at = now()")
    assert await counted(harness, file) == (1, 0, 0, 0)
    assert await harness.source_value(source["id"], "removed_at") is None


async def test_c7_imported_history_is_silent(stack: Harness) -> None:
    series = stack.series(chapters=5)
    await stack.follow("ann", (await stack.add_and_sync(stack.series("Other")))["series_id"])
    assert await counted(stack, by_url(series.id), user_id=await ann(stack)) == (1, 0, 0, 0)

    await stack.all_quiet()
    assert await stack.chapter_count() == 8
    assert await stack.value("select count(*) from notification") == 0
    assert stack.simulator.sink.messages() == []


def test_progress_is_shown_to_people_and_told_to_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_progress, "_SECONDS_BETWEEN_LINES", 0)
    for display, finishes in ((ProgressBar, "2/2"), (ProgressLines, "import: 2 of 2")):
        console = Console(file=StringIO(), force_terminal=display is ProgressBar, width=100)
        with display(console) as shown:
            shown.start(2, 1)
            shown.waiting("mangadex", 0.2)
            shown.waiting("mangadex", 12)
            time.sleep(0.15)  # the bar is drawn ten times a second
            shown.settled()
        said = console.file.getvalue()  # type: ignore[attr-defined]
        assert "waiting for mangadex, 12 s" in said
        assert finishes in said


def test_doubtful_rows_are_written_once_for_each_candidate(tmp_path: Path) -> None:
    candidates = [{"title": "Twins", "url": URL + NOWHERE}, {"title": "Twins II", "url": URL + "b"}]
    doubt = {"title": "Twins", "read": Decimal(3), "why": "two", "candidates": candidates}
    report = Report(2, doubtful=[doubt, {"title": "Nobody", "why": "none", "candidates": []}])
    path = import_command._write_doubtful(tmp_path / "out.csv", report)
    assert path is not None
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 4
    taken = parse_csv("\n".join([lines[0], *(f"yes{line}" for line in lines[1:])])).wanted
    assert taken[0] == Wanted("Twins", url=URL + NOWHERE, read=Decimal(3))
    assert taken[2] == Wanted("Nobody")


def test_o5_the_command_tells_people_and_programs(running: Running) -> None:
    series = running.simulator.world.add_series(SeriesSpec(title="Borrowed [bold] Umbrella", chapters=2))
    file = running.desk.folder / "list.csv"
    file.write_text(f"title,url,read\n,{URL}{series.id},2\nBorrowed,,\n,{URL}x,\n")
    report = running.fascicle("source", "import", str(file), "--user", "ann", "--json")
    told = json.loads(report.out)
    assert (report.code, told["added"], told["present"]) == (1, 1, 0)
    assert [row["url"] for row in told["failed"]] == [f"{URL}x"]
    assert "import: 3 series in the file" in report.err
    again = running.fascicle("source", "import", str(file), "--user", "ann", "--doubtful", "doubtful.csv")
    assert again.code == 1
    assert "3 series: 0 added, 1 there already, 1 doubtful, 1 failed" in again.said()
    assert "Borrowed [bold] Umbrella" in again.out
    assert series.id in (running.desk.folder / "doubtful.csv").read_text()
