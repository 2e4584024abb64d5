"""Any process may be killed at any moment: nothing is lost, nothing is doubled (X1, C4, C8)."""

from collections import Counter

import pytest

from tests.chaos.books import assert_all_in_once, assert_all_told_once
from tests.chaos.conftest import MOMENTS, Experiments
from tests.chaos.experiments import BACKFILL
from tests.chaos.feed_experiment import STRUCK


async def test_x1_a_worker_killed_in_a_backfill_loses_and_doubles_nothing(experiments: Experiments) -> None:
    report = await experiments.backfill
    assert 0 < report.stored_when_killed < BACKFILL, "it was in the middle"
    assert report.requests_after <= 4, "at worst the list is read once more"
    numbers = Counter(number for _, number in report.books.chapters.elements())
    assert numbers == Counter(str(n) for n in range(1, BACKFILL + 1))
    assert not report.books.notifications
    assert not report.books.messages


@pytest.mark.parametrize("moment", MOMENTS)
async def test_x1_a_worker_killed_while_ingesting_tells_each_follower_once(
    experiments: Experiments, moment: str
) -> None:
    report = await experiments.ingests[moment]
    assert not report.was_settled, "it was in the middle"
    assert_all_in_once(report.books, report.chapters)
    assert_all_told_once(report.books, report.tellings, certain=False)


async def test_i2_a_worker_killed_at_each_moment_of_a_poll_delivers_each_item_once(
    experiments: Experiments,
) -> None:
    report = await experiments.feeds
    books, wanted = report.books, {page for _, page in report.expected}
    assert report.polls_again == set(STRUCK), "each was in the middle"
    assert not {page for _, page in report.at_the_kill} & _pages_of(wanted, "stored"), "it was in the middle"
    assert books.inboxes == Counter(report.expected)
    assert books.items == Counter(set(books.items)), "one item for each page"
    assert {page for page, state in books.enriched.items() if state == "done"} == wanted
    # The one whose answer died with its worker, in the middle of enriching.
    again = [page for page, count in books.looks.items() if count > 1]
    assert [(page.split("/")[2], books.looks[page]) for page in again] == [("enriching", 2)]
    assert set(books.looks) == wanted, "nobody asked for pages of what nobody has"
    assert not books.letters


def _pages_of(pages: set[str], name: str) -> set[str]:
    return {page for page in pages if page.startswith(f"/feeds/{name}/")}


async def test_o2_a_polite_stop_and_a_start_while_chapters_come(experiments: Experiments) -> None:
    report = await experiments.under_up
    assert report.exit_code == 0
    assert_all_in_once(report.after_the_restart.books, report.after_the_restart.chapters)
    assert_all_told_once(report.after_the_restart.books, report.after_the_restart.tellings, certain=True)


async def test_x1_up_recovers_by_itself_when_its_servers_are_killed(experiments: Experiments) -> None:
    report = await experiments.under_up
    assert report.said.count("died      temporal") == 2
    assert report.said.count("died      postgres") == 2
    assert_all_in_once(report.after_the_kills.books, report.after_the_kills.chapters)
    assert_all_told_once(report.after_the_kills.books, report.after_the_kills.tellings, certain=False)
