"""The archive's pages as they were recorded: each fact as a reader of the page finds it."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fascicle.domain.errors import FascicleError
from fascicle.domain.fics.fic import Fic, SeriesPage
from fascicle.domain.fics.fic_url import normal_form
from fascicle.sites.ao3 import read_page


def _read(folder: Path, name: str, url: str) -> Fic | SeriesPage:
    return read_page((folder / "fic" / name).read_bytes(), normal_form(url))


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        (
            "ao3_work_multichapter_17793689.html",
            17793689,
            {
                "authors": ["enigmalea"],
                "relationships": [
                    "Female Lavellan/Solas",
                    "Fen'Harel | Solas/Female Lavellan",
                    "Mage Inquisitor/Solas",
                    "Inquisitor/Solas (Dragon Age)",
                    "Female Inquisitor & Solas",
                ],
                "rating": "Mature",
                "categories": ["F/M"],
                "words": 70561,
                "chapters": 14,
                "chapters_total": None,
                "complete": False,
                "published_on": date(2019, 2, 15),
                "updated_on": date(2019, 12, 28),
                "change_token": "1699401359",
                "restricted": False,
            },
        ),
        (
            "ao3_work_oneshot_two_series_4491333.html",
            4491333,
            {
                "title": "[VID] Drop Dead Gorgeous",
                "authors": ["astolat"],
                "fandoms": ["Smallville"],
                "relationships": [
                    "Clark Kent/Lex Luthor",
                    "Clark Kent/Chloe Sullivan",
                    "Clark Kent/Lana Lang",
                ],
                "warnings": ["Creator Chose Not To Use Archive Warnings"],
                "categories": ["F/M", "M/M"],
                "words": 6,
                "chapters": 1,
                "chapters_total": 1,
                "complete": True,
                "published_on": date(2004, 8, 18),
                "updated_on": None,
                "change_token": "1767442327",
            },
        ),
        (
            "ao3_work_past_qualifier_923647.html",
            923647,
            {
                "authors": ["Alias (anafabula)"],
                "author_urls": ["https://archiveofourown.org/users/anafabula/pseuds/Alias"],
                "fandoms": ["Twin Peaks", "Welcome to Night Vale"],
                "relationships": ["past Harry Truman/Josie Packard"],
                "rating": "Teen And Up Audiences",
                "language": "English",
                "words": 2850,
                "complete": True,
            },
        ),
        (
            "ao3_work_restricted_loggedin_185710.html",
            185710,
            {
                "title": "Big Brother Is Watching You",
                "authors": ["Flawedamythyst"],
                "fandoms": ["Sherlock (TV)", "Sherlock Holmes & Related Fandoms"],
                "relationships": ["Sherlock Holmes/John Watson"],
                "characters": [],
                "tags": ["Crack"],
                "words": 5595,
                "restricted": True,
                "series": [],
            },
        ),
    ],
)
def test_f1_recorded_works(fixtures_folder: Path, name: str, number: int, expected: dict[str, Any]) -> None:
    found = _read(fixtures_folder, name, f"https://archiveofourown.org/works/{number}")
    assert isinstance(found, Fic)
    assert {fact: getattr(found, fact) for fact in expected} == expected


@pytest.mark.parametrize(
    ("name", "number", "places"),
    [
        ("ao3_work_multichapter_17793689.html", 17793689, [("1285256", "Thedas Unveiled", 1)]),
        (
            "ao3_work_oneshot_two_series_4491333.html",
            4491333,
            [("298827", "Astolat Vids", 11), ("303489", "Smallville works", 8)],
        ),
        ("ao3_work_past_qualifier_923647.html", 923647, [("53653", "observe and report", 1)]),
    ],
)
def test_f7_recorded_works_know_their_series(
    fixtures_folder: Path, name: str, number: int, places: list[tuple[str, str, int]]
) -> None:
    found = _read(fixtures_folder, name, f"https://archiveofourown.org/works/{number}")
    assert isinstance(found, Fic)
    assert [(place.id, place.title, place.part) for place in found.series] == places


def test_f7_a_recorded_series_lists_its_works(fixtures_folder: Path) -> None:
    found = _read(fixtures_folder, "ao3_series_2270465.html", "https://archiveofourown.org/series/2270465")
    assert isinstance(found, SeriesPage)
    assert (found.title, found.authors, found.words) == ("OG Titan", ["MyHero"], 30035)
    assert (found.works_total, found.complete, found.page, found.pages) == (6, False, 1, 1)
    assert found.summary
    assert found.summary.startswith("<p>My potentially related stories")
    fics = [work.fic for work in found.works if work.fic]
    assert [(work.part, work.error) for work in found.works] == [(part, None) for part in range(1, 7)]
    assert [(fic.id, fic.words, fic.chapters, fic.chapters_total) for fic in fics] == [
        ("30604247", 2733, 1, 1),
        ("30794750", 17141, 12, None),
        ("30914645", 3021, 1, 1),
        ("31221131", 832, 1, 1),
        ("35757790", 5718, 2, 3),
        ("44149795", 590, 1, 1),
    ]
    assert fics[0].relationships == ["Dick Grayson & Donna Troy", "Dick Grayson & Damian Wayne"]
    assert fics[0].fandoms == [
        "Batman - All Media Types",
        "Teen Titans (Comics)",
        "Nightwing (Comics)",
    ]
    assert [(place.id, place.part) for place in fics[0].series] == [("2270465", 1), ("2662930", 1)]
    assert (fics[0].rating, fics[0].categories, fics[0].updated_on) == (
        "Teen And Up Audiences",
        ["Gen"],
        date(2021, 4, 11),
    )
    assert {fic.change_token for fic in fics} == {"1738717488", "1770317371"}


@pytest.mark.parametrize(
    ("name", "number", "code"),
    [
        ("errors/ao3_403_ip_blocked.html", 1, "blocked"),
        ("errors/ao3_503.html", 1, "transient"),
        ("errors/ao3_deleted_404.html", 1, "not_found"),
        ("errors/ao3_locked_login_185710.html", 185710, "login_required"),
        ("errors/ao3_adult_gate_35369560.html", 35369560, "adult_gate"),
        ("ao3_navigate_43703871.html", 43703871, "parser_broken"),
        ("ao3_tag_canonical_with_synonyms.html", 1, "parser_broken"),
        ("ao3_work_past_qualifier_923647.html", 923648, "parser_broken"),
        ("ao3_series_2270465.html", 2270465, "parser_broken"),
    ],
)
def test_f9_recorded_pages_that_are_no_work(fixtures_folder: Path, name: str, number: int, code: str) -> None:
    with pytest.raises(FascicleError) as raised:
        _read(fixtures_folder, name, f"https://archiveofourown.org/works/{number}")
    assert raised.value.code == code


def test_f9_a_page_of_another_series_is_refused(fixtures_folder: Path) -> None:
    with pytest.raises(FascicleError, match="about series 2270465, not about 2270466"):
        _read(fixtures_folder, "ao3_series_2270465.html", "https://archiveofourown.org/series/2270466")
