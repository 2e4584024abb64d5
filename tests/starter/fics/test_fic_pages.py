"""`fascicle fic normalize` and `preview`: an address and a saved page, with no stack and no site (F1, F9)."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.sites.ao3_pages import blurb, error_page, mystery, place, series_page, work_page
from tests.starter.conftest import Desk

WORK = "https://archiveofourown.org/works/12"
SERIES = "https://archiveofourown.org/series/5"


def test_f1_an_address_is_brought_into_its_normal_form(desk: Desk) -> None:
    assert desk.json("fic", "normalize", "<http://ao3.org/works/0012/chapters/3>") == {
        "normal_form": WORK,
        "url": WORK,
        "site": "ao3",
        "kind": "work",
        "id": "12",
        "job_id": "fic-ao3-work-12",
    }
    assert WORK in desk.fascicle("fic", "normalize", "ao3.org/works/12").said()


def test_f1_a_part_has_no_normal_form_until_its_site_is_asked(desk: Desk) -> None:
    found = desk.fascicle("fic", "normalize", "https://www.wattpad.com/6-part", "--json")
    assert (found.json()["normal_form"], found.json()["kind"]) == (None, "needs_lookup")
    assert "has to be asked" in found.err


def test_f1_what_is_refused_says_why(desk: Desk) -> None:
    refused = desk.fascicle("fic", "normalize", "https://archiveofourown.org/chapters/1", "--json")
    assert refused.code == 2
    assert '"error_code": "not_a_fic"' in refused.out
    assert "work's address" in refused.out
    assert "work's address" in " ".join(refused.err.split())


def test_f1_a_saved_work_and_a_saved_series_yield_the_same_fields(desk: Desk) -> None:
    work = _preview(desk, work_page(series=place(3, "5")), WORK)
    assert (work["title"], work["words"], work["works"]) == ("The Tea House", 12345, [])
    assert [(s["title"], s["part"]) for s in work["series"]] == [("Rainy Days", 3)]
    series = _preview(desk, series_page(blurb(), mystery("22")), SERIES)
    assert (series["title"], series["words"], series["chapters"]) == ("Rainy Days", 30035, None)
    assert [(w["part"], w["id"], w["title"], bool(w["error"])) for w in series["works"]] == [
        (1, "21", "First Flush", False),
        (None, "22", "", True),
    ]
    assert set(work) - set(series["works"][1]) == {"works"}


def test_f1_people_see_a_table(desk: Desk) -> None:
    shown = desk.fascicle("fic", "preview", _saved(desk.folder, series_page(blurb())), "--url", SERIES).said()
    assert "Rainy Days" in shown
    assert "First Flush" in shown
    shown = desk.fascicle("fic", "preview", _saved(desk.folder, error_page("404")), "--url", SERIES).said()
    assert shown.startswith("not_found: The archive has no such page")


def test_f9_a_page_that_is_an_error_is_an_answer(desk: Desk) -> None:
    found = _preview(desk, error_page("503"), WORK)
    assert found["error_code"] == "transient"
    assert "few minutes" in found["error"]


@pytest.mark.parametrize(
    ("file", "url", "reason"),
    [
        ("nowhere.html", WORK, "cannot be read"),
        (".", WORK, "cannot be read"),
        ("page.html", "https://www.wattpad.com/6-part", "one part of a work"),
        ("page.html", "https://archiveofourown.org:8/works/1", "port"),
    ],
)
def test_f9_a_preview_of_nothing_is_wrong_usage(desk: Desk, file: str, url: str, reason: str) -> None:
    _saved(desk.folder, b"")
    refused = desk.fascicle("fic", "preview", file, "--url", url)
    assert refused.code == 2
    assert reason in refused.said()
    told = desk.fascicle("fic", "preview", file, "--url", url, "--json")
    assert reason in orjson.loads(told.out)["reason"]


def _preview(desk: Desk, page: bytes, url: str) -> Any:
    return desk.json("fic", "preview", _saved(desk.folder, page), "--url", url)


def _saved(folder: Path, page: bytes) -> str:
    file = folder / "page.html"
    file.write_bytes(page)
    return str(file)
