"""What a series' page yields: each work by its blurb, and a broken one alone (F7)."""

from datetime import date
from typing import Any

import pytest

from fascicle.domain.errors import PermanentError
from fascicle.domain.fics.fic import Fic, FicKind, FicRef, SeriesPage, SeriesPart
from fascicle.sites.ao3 import read_page
from tests.sites.ao3_pages import blurb, mystery, paging, series_page

SERIES = FicRef(site="ao3", kind=FicKind.SERIES, id="5", url="https://archiveofourown.org/series/5")


def read(*blurbs: str, **facts: Any) -> SeriesPage:
    found = read_page(series_page(*blurbs, **facts), SERIES)
    assert isinstance(found, SeriesPage)
    return found


def test_f7_a_series_and_its_works_are_read_from_one_page() -> None:
    found = read(blurb(places=[(4, "9"), (1, "5")]))
    assert found.model_dump(exclude={"works"}) == {
        "site": "ao3",
        "id": "5",
        "url": "https://archiveofourown.org/series/5",
        "title": "Rainy Days",
        "authors": ["Anna B (anna)"],
        "summary": "<p>Days.</p>",
        "words": 30035,
        "works_total": 2,
        "complete": False,
        "page": 1,
        "pages": 1,
    }
    (work,) = found.works
    assert (work.part, work.work_id, work.error) == (1, "21", None)
    assert work.fic == Fic(
        site="ao3",
        id="21",
        url="https://archiveofourown.org/works/21",
        title="First Flush",
        authors=["Anna B (anna)"],
        author_urls=["https://archiveofourown.org/users/anna/pseuds/Anna%20B"],
        fandoms=["Tea (Anime)"],
        relationships=["Aki/Ben"],
        characters=["Aki"],
        tags=["Fluff"],
        warnings=["Choose Not To"],
        categories=["F/M", "M/M"],
        rating="Teen And Up Audiences",
        language="Deutsch",
        summary="<p>Short.</p>",
        words=1000,
        chapters=2,
        chapters_total=None,
        complete=False,
        updated_on=date(2021, 4, 11),
        change_token="1700000001",
        series=[
            SeriesPart(id="9", title="S9 7", url="https://archiveofourown.org/series/9", part=4),
            SeriesPart(id="5", title="S5 7", url="https://archiveofourown.org/series/5", part=1),
        ],
    )


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"complete": "Yes"}, {"complete": True}),
        ({"complete": "?"}, {"complete": None}),
        ({"described": ""}, {"summary": None}),
        ({"creator": "Anonymous"}, {"authors": ["Anonymous"]}),
        ({"works": "1,024", "pages": paging("5", 1, 52)}, {"works_total": 1024, "page": 1, "pages": 52}),
        ({"pages": paging("5", 3, 3)}, {"page": 3, "pages": 3}),
        ({"pages": paging("5", 2, 10**9)}, {"page": 2, "pages": 5000}),
    ],
)
def test_f7_facts_of_a_series(facts: dict[str, Any], expected: dict[str, Any]) -> None:
    found = read(blurb(), **facts)
    assert {name: getattr(found, name) for name in expected} == expected


def test_f7_a_broken_blurb_leaves_the_others_alone() -> None:
    found = read(
        blurb("21"),
        blurb("22", title="", places=[(2, "5")]),
        blurb("23", chapters="", places=[(3, "5")]),
        blurb("24", byline="", places=[(4, "5")]),
        mystery("25"),
        '<li class="work blurb group"></li>',
        blurb("27", places=[(7, "5")]),
    )
    assert [(w.part, w.work_id, w.fic is not None) for w in found.works] == [
        (1, "21", True),
        (2, "22", False),
        (3, "23", False),
        (4, "24", False),
        (None, "25", False),
        (None, None, False),
        (7, "27", True),
    ]
    assert [bool(w.error) for w in found.works] == [w.fic is None for w in found.works]
    assert "not revealed" in (found.works[4].error or "")
    assert {w.error_code for w in found.works} == {None, "unrevealed", "parser_broken"}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"byline": "Anonymous"}, {"authors": ["Anonymous"], "author_urls": []}),
        ({"header": 'for <a href="/users/dora/gifts">Dora</a>'}, {"authors": ["Anna B (anna)"]}),
        ({"header": '<img alt="(Restricted)" src="/images/lockblue.png">'}, {"restricted": True}),
        ({"chapters": "1/1"}, {"chapters": 1, "chapters_total": 1, "complete": True}),
        ({"summary": '<dl class="stats"><dd class="chapters">9/9</dd></dl>'}, {"chapters": 2}),
    ],
)
def test_f7_facts_of_a_blurb(facts: dict[str, Any], expected: dict[str, Any]) -> None:
    fic = read(blurb(**facts)).works[0].fic
    assert fic
    assert {name: getattr(fic, name) for name in expected} == expected


@pytest.mark.parametrize(
    "body",
    [
        series_page(blurb(), number="6"),
        series_page(blurb(places=[(1, "6")]), bookmarks=False),
        series_page(blurb(), number="6", bookmarks=False, pages=paging("6", 1, 2)),
    ],
)
def test_f7_a_page_of_another_series_is_refused(body: bytes) -> None:
    with pytest.raises(PermanentError, match="about series 6, not about 5") as raised:
        read_page(body, SERIES)
    assert raised.value.code == "parser_broken"


def test_f9_a_list_that_is_not_found_is_not_an_empty_one() -> None:
    with pytest.raises(PermanentError, match="counts 2 works and lists none") as raised:
        read()
    assert raised.value.code == "parser_broken"
    # Works may go while the list is read: then its last page is empty.
    assert read(pages=paging("5", 2, 2)).works == []


def test_f7_a_series_without_visible_works_is_read() -> None:
    assert read(bookmarks=False, works="0").works == []
