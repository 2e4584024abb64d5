"""The state of the installation in /metrics: fresh where it can be had, never in a scrape's way (O1)."""

import asyncio
import re

import pytest

from fascicle.storage.operations.gauges import Sample
from fascicle.web import state
from fascicle.web.exposition import exposition
from fascicle.web.state import OWN_GAUGES, StateGauges

LETTERS = "fascicle_dead_letters"


class Database:
    """Gives the samples that it is told to, after as long as it is told to."""

    def __init__(self) -> None:
        self.samples = [Sample(LETTERS, ("not_found", "poll"), 2)]
        self.answers = asyncio.Event()
        self.answers.set()
        self.broken = False
        self.reads = 0

    async def read(self) -> list[Sample]:
        self.reads += 1
        await self.answers.wait()
        if self.broken:
            raise RuntimeError("the table is gone")
        return self.samples


async def yes() -> bool:
    return True


def gauges(database: Database, every_seconds: float = 0) -> StateGauges:
    own = [Sample("fascicle_worker_running", (), True)]
    return StateGauges(database.read, yes, lambda: own, every_seconds=every_seconds, patience_seconds=0.05)


async def until(shown: StateGauges, line: str) -> str:
    async with asyncio.timeout(20):
        while line not in (text := await shown.text()):
            await asyncio.sleep(0.01)
    return text


async def test_o1_each_scrape_shows_what_is_so_now() -> None:
    database = Database()
    shown = gauges(database)
    first = await shown.text()  # the first read has none before it, and needs no rest
    assert f'{LETTERS}{{code="not_found",kind="poll"}} 2\n' in first
    assert {"fascicle_worker_running 1", "fascicle_database_up 1", "fascicle_temporal_up 1"} <= {
        *first.split("\n")
    }
    database.samples = []
    assert LETTERS not in await shown.text(), "what is over vanishes"


async def test_o1_many_scrapes_are_one_read() -> None:
    database = Database()
    shown = gauges(database, every_seconds=1000)
    texts = await asyncio.gather(*(shown.text() for _ in range(5)))
    assert database.reads == 1
    assert all(LETTERS in text for text in texts)


async def test_o1_what_takes_long_again_and_again_is_read_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_SHARE_OF_TIME", 1e-9)
    database = Database()
    shown = gauges(database)
    for _ in range(5):
        await shown.text()
    assert database.reads == 2, "once may be chance"


async def test_o1_a_database_that_hangs_delays_no_scrape_and_is_called_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state, "_LONGEST_REST_SECONDS", 0)
    monkeypatch.setattr(state, "LONGEST_READ_SECONDS", 0.1)
    database = Database()
    shown = gauges(database)
    await shown.text()
    database.answers.clear()
    assert f'{LETTERS}{{code="not_found",kind="poll"}} 2\n' in await shown.text(), "the last that is known"
    text = await until(shown, "fascicle_database_up 0\n")
    assert float(re.findall(r"^fascicle_state_age_seconds (\S+)$", text, re.MULTILINE)[0]) > 0
    monkeypatch.setattr(state, "SHOWN_FOR_SECONDS", 0)
    assert LETTERS not in await shown.text(), "nobody takes it for the present"
    database.answers.set()
    await until(shown, "fascicle_database_up 1\n")
    await shown.aclose()


async def test_o1_a_read_that_breaks_leaves_the_rest() -> None:
    database = Database()
    database.broken = True
    text = await gauges(database).text()
    assert "fascicle_database_up 0\n" in text
    assert "fascicle_temporal_up 1\n" in text
    assert "fascicle_state_age_seconds" not in text


def test_o1_people_s_names_break_no_line() -> None:
    sample = Sample("fascicle_build_info", ('a"b\\c\nd', "\x00e", "x" * 500), float("inf"))
    text = exposition(OWN_GAUGES, [sample])
    assert text.splitlines()[2] == (
        r'fascicle_build_info{version="a\"b\\c\nd",schema="'
        + "\ufffde"
        + '",queues="'
        + "x" * 100
        + '"} +Inf'
    )
    assert text.splitlines()[:2] == [
        f"# HELP fascicle_build_info {OWN_GAUGES['fascicle_build_info'].help}",
        "# TYPE fascicle_build_info gauge",
    ]
