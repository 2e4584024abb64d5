"""Any process may be killed at any moment: nothing is lost, nothing is doubled (X1, C4, C8)."""

from collections import Counter

import pytest

from tests.chaos.books import assert_all_in_once, assert_all_told_once
from tests.chaos.conftest import MOMENTS, Experiments
from tests.chaos.experiments import BACKFILL


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
