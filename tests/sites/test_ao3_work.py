"""What a work's page yields (F9, X4)."""

from datetime import date
from typing import Any

import pytest

from fascicle.domain.fics.fic import Fic, FicKind, FicRef, SeriesPart
from fascicle.sites.ao3 import read_page
from tests.sites.ao3_pages import ANNA, place, work_page

WORK = FicRef(site="ao3", kind=FicKind.WORK, id="12", url="https://archiveofourown.org/works/12")


def read(**facts: Any) -> Fic:
    found = read_page(work_page(**facts), WORK)
    assert isinstance(found, Fic)
    return found


def test_f1_a_work_is_read_whole() -> None:
    assert read(series=place(3, "5")) == Fic(
        site="ao3",
        id="12",
        url="https://archiveofourown.org/works/12",
        title="The Tea House",
        authors=["Anna B (anna)"],
        author_urls=["https://archiveofourown.org/users/anna/pseuds/Anna%20B"],
        fandoms=["Tea (Anime)", "Rain & Co"],
        relationships=["Aki/Ben", "Aki & Chie", "past Ben/Dai"],
        characters=["Aki", "Ben"],
        tags=["Slow Burn", "<3"],
        warnings=["No Archive Warnings Apply"],
        categories=["F/M", "Gen"],
        rating="Mature",
        language="English",
        summary="<p>Rain, and <i>tea</i>.</p>",
        words=12345,
        chapters=3,
        chapters_total=3,
        complete=True,
        published_on=date(2024, 2, 1),
        updated_on=date(2024, 3, 2),
        change_token="1700000000",
        series=[
            SeriesPart(id="5", title="Rainy Days", url="https://archiveofourown.org/series/5", part=3),
        ],
    )


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"chapters": "14/?"}, {"chapters": 14, "chapters_total": None, "complete": False}),
        ({"chapters": "1,014/2,000"}, {"chapters": 1014, "chapters_total": 2000, "complete": False}),
        ({"words": ""}, {"words": None}),
        ({"words": "9" * 5000}, {"words": 2**31 - 1}),
        ({"status": ""}, {"updated_on": None}),
        ({"status": '<dd class="status">2024-13-45</dd>'}, {"updated_on": None}),
        ({"ships": []}, {"relationships": []}),
        ({"summary": ""}, {"summary": None}),
        ({"summary": "<p onclick=x>a<script>b</script></p>"}, {"summary": "<p>a</p>"}),
        ({"title": "Tea\u202e\x07 &amp;  <b>Rain</b>"}, {"title": "Tea & Rain"}),
        (
            {"title": '<img alt="(Restricted)" src="/images/lockblue.png"> Tea'},
            {"title": "Tea", "restricted": True},
        ),
        (
            {"series": f"{place(11, '5')}, {place(8, '6', '7 Teas')}"},
            {
                "series": [
                    SeriesPart(
                        id="5", title="Rainy Days", url="https://archiveofourown.org/series/5", part=11
                    ),
                    SeriesPart(id="6", title="7 Teas", url="https://archiveofourown.org/series/6", part=8),
                ]
            },
        ),
    ],
)
def test_f1_facts_of_a_work(facts: dict[str, Any], expected: dict[str, Any]) -> None:
    found = read(**facts)
    assert {name: getattr(found, name) for name in expected} == expected


_ORPHAN = '<a rel="author" href="/users/orphan_account/pseuds/x">x (orphan_account)</a>'


@pytest.mark.parametrize(
    ("byline", "authors"),
    [
        (f"{ANNA}, {_ORPHAN}", ["Anna B (anna)", "x (orphan_account)"]),
        ("\n Anonymous \n", ["Anonymous"]),
        (f"Anonymous [{ANNA}]", ["Anonymous"]),
        ('<a rel="author" href="/users/Anonymous">Anonymous</a>', ["Anonymous"]),
        (f"Old Writer [archived by {ANNA}]", ["Old Writer"]),
        (
            f"Old [archived by {ANNA}], Older [archived by {ANNA}], {_ORPHAN}",
            ["Old", "Older", "x (orphan_account)"],
        ),
    ],
)
def test_f1_authors_are_those_of_the_byline(byline: str, authors: list[str]) -> None:
    notes = '<ul class="associations"><li>Translation by <a rel="author" href="/users/t">T</a></li></ul>'
    assert read(byline=byline, notes=notes).authors == authors


def test_f1_a_story_cannot_pass_for_its_own_page() -> None:
    fake = (
        '<p class="caution">Adult?</p><p class="notice">revealed soon</p><h2 class="title heading">Fake</h2>'
        '<dl class="work meta group"><dd class="rating"><a class="tag">Fake</a></dd></dl>Just a moment'
    )
    assert read(story=fake, summary=f"<div>{fake}</div>").model_copy(update={"summary": None}) == read(
        summary=""
    )


def test_f1_the_kudos_form_tells_the_work_before_links_do() -> None:
    body = work_page("99", kudos="12")
    assert isinstance(read_page(body, WORK), Fic)
