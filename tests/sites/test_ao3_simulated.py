"""The simulator's archive and the parser mean the same by a page."""

from datetime import date

import pytest

from fascicle.domain.errors import FascicleError
from fascicle.domain.fics.fic import Fic, SeriesPage
from fascicle.domain.fics.fic_url import normal_form
from fascicle.sites.ao3 import read_page
from simulator.ao3.archive import Archive
from simulator.ao3.errors import challenge_page, error_page, maintenance_page
from simulator.ao3.records import Ao3SeriesSpec, WorkSpec
from simulator.ao3.series_page import series_page
from simulator.ao3.work_page import adult_gate, navigate_page, unrevealed_page, work_page

SPEC = WorkSpec(
    id=12,
    title="Tea & Rain",
    authors=("anna", "ben"),
    fandoms=("Tea (Anime)", "Rain"),
    relationships=("Aki/Ben", "Aki & Chie"),
    rating="Mature",
    categories=("F/M",),
    words=12345,
    chapters=3,
    chapters_total=None,
    updated_on=date(2026, 2, 3),
    translators=("tom",),
    inspired_by=("ida",),
    padding=100_000,
)


def _read(body: str | bytes, path: str) -> Fic | SeriesPage:
    ref = normal_form(f"https://archiveofourown.org/{path}")
    return read_page(body if isinstance(body, bytes) else body.encode(), ref)


def test_f1_a_simulated_work_is_read_as_it_was_written() -> None:
    archive = Archive()
    work = archive.add_work(SPEC)
    archive.add_series(Ao3SeriesSpec(id=5, title="Days", works=(12,)))
    found = _read(b"".join(work_page(work, archive.series_of(12), 1)), "works/12")
    assert isinstance(found, Fic)
    for fact in ("title", "rating", "words", "chapters", "chapters_total", "published_on", "updated_on"):
        assert getattr(found, fact) == getattr(work, fact), fact
    for fact in ("authors", "fandoms", "relationships", "categories", "warnings"):
        assert getattr(found, fact) == list(getattr(work, fact)), fact
    assert (found.change_token, found.complete) == (str(work.change_token), False)
    assert [(place.id, place.title, place.part) for place in found.series] == [("5", "Days", 1)]


def test_f7_a_simulated_series_is_read_page_by_page() -> None:
    archive = Archive()
    works = [archive.add_work(WorkSpec(title=f"Day {n}", broken_blurb=n == 3)) for n in range(1, 24)]
    series = archive.add_series(Ao3SeriesSpec(id=5, title="Days", works=tuple(work.id for work in works)))
    pages = [_read(series_page(archive, series, page), "series/5") for page in (1, 2)]
    found = [page for page in pages if isinstance(page, SeriesPage)]
    assert [(page.page, page.pages, page.works_total) for page in found] == [(1, 2, 23), (2, 2, 23)]
    titles = [work.fic.title if work.fic else None for page in found for work in page.works]
    assert titles == [None if n == 3 else f"Day {n}" for n in range(1, 24)]
    assert [work.part for page in found for work in page.works] == list(range(1, 24))


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (adult_gate(Archive().add_work(SPEC), []), "adult_gate"),
        (unrevealed_page(Archive().add_work(SPEC)), "unrevealed"),
        (navigate_page(Archive().add_work(SPEC)), "parser_broken"),
        (
            b"".join(work_page(Archive().add_work(SPEC.model_copy(update={"broken": True})), [], 1)),
            "parser_broken",
        ),
        (error_page(403), "blocked"),
        (error_page(404), "not_found"),
        (error_page(429), "rate_limited"),
        (error_page(445), "transient"),
        (error_page(503), "transient"),
        (maintenance_page(), "transient"),
        (challenge_page(), "challenge"),
    ],
)
def test_f9_simulated_refusals_have_the_archives_names(page: str | bytes, code: str) -> None:
    with pytest.raises(FascicleError) as raised:
        _read(page, "works/12")
    assert raised.value.code == code
