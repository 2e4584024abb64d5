"""FanFicFare as a parser: pages in, works out, and never a connection."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import date

import pytest

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError
from fascicle.domain.fics.fic import Fic, FicKind, FicRef, SeriesPart
from fascicle.sites.fanficfare import FanFicFare, PageWanted
from simulator.royalroad import FICTIONS, fiction_page
from tests.sites import fanficfare_probe
from tests.sites.otw_pages import ADULT_GATE, META, NAVIGATE, NAVIGATE_PAGE, WORK, WORK_PAGE

FICTION = FICTIONS[71001]
SQUIDGE = FicRef(site="squidgeworld.org", kind=FicKind.WORK, id="4711", url=WORK)
ROYALROAD = FicRef(
    site="royalroad", kind=FicKind.WORK, id="71001", url="https://www.royalroad.com/fiction/71001"
)
FANFICTION = FicRef(site="fanfiction.net", kind=FicKind.WORK, id="7", url="https://www.fanfiction.net/s/7/1/")
BOTH_PAGES = {NAVIGATE_PAGE: NAVIGATE, WORK_PAGE: META}
LONGEST_SECONDS = 2.0


@pytest.fixture(scope="module")
async def reader() -> AsyncIterator[FanFicFare]:
    """One child for all tests: starting one takes half a second."""
    async with FanFicFare(1, seconds_per_page=LONGEST_SECONDS, child=fanficfare_probe.__name__) as reader:
        yield reader


async def test_f1_a_work_is_read_from_one_page(reader: FanFicFare) -> None:
    wanted = await reader.read(ROYALROAD, {})
    assert wanted == PageWanted(ROYALROAD.url)
    fic = await reader.read(ROYALROAD, {ROYALROAD.url: fiction_page(FICTION).encode()})
    assert fic == Fic(
        site="royalroad",
        id="71001",
        url=ROYALROAD.url,
        title="The Cartographer of Small Rooms",
        authors=["quillandtide"],
        author_urls=["https://www.royalroad.com/profile/71001"],
        fandoms=["Original"],
        tags=["Fantasy", "Slice of Life"],
        summary="She maps one room a day. <em>The last one maps her.</em>",
        words=18_204,
        chapters=3,
        complete=False,
        published_on=date(2025, 3, 2),
        updated_on=date(2026, 8, 14),
    )


async def test_f1_a_work_on_two_pages_asks_for_each_in_turn(reader: FanFicFare) -> None:
    assert await reader.read(SQUIDGE, {}) == PageWanted(NAVIGATE_PAGE)
    assert await reader.read(SQUIDGE, {NAVIGATE_PAGE: NAVIGATE}) == PageWanted(WORK_PAGE)
    fic = await reader.read(SQUIDGE, BOTH_PAGES)
    assert fic == Fic(
        site="squidgeworld.org",
        id="4711",
        url=WORK,
        title="Salt & Feathers",
        authors=["wren"],
        author_urls=["https://squidgeworld.org/users/wren/pseuds/wren"],
        fandoms=["Supernatural (TV 2005)"],
        relationships=[
            "Sam Winchester/Jessica Moore",
            "Castiel/Dean Winchester",
            "Castiel & Sam Winchester",
        ],
        characters=["Dean Winchester", "Castiel"],
        tags=["Slow Burn <3"],
        warnings=["No Archive Warnings Apply"],
        rating="Teen And Up Audiences",
        language="English",
        summary="<p>The tide <b>comes</b> in.</p>",
        words=12_345,
        chapters=2,
        chapters_total=5,
        complete=False,
        published_on=date(2025, 1, 2),
        updated_on=date(2025, 2, 3),
        series=[SeriesPart(id="99", title="Tides", url="https://squidgeworld.org/series/99", part=2)],
    )


MEMBERS_ONLY = b"<p>This work is only available to registered users of the Archive.</p>"
CHALLENGE = b"<html><head><title>Just a moment...</title></head><script>window._cf_chl_opt={}</script></html>"


@pytest.mark.parametrize(
    ("ref", "body", "code"),
    [
        (FANFICTION, b"<html><body>Story Not Found</body></html>", "not_found"),
        (FANFICTION, CHALLENGE, "challenge"),
        (FANFICTION, b"Story Not Found<script src='/cdn-cgi/challenge-platform/h/b/x.js'>", "not_found"),
        (FANFICTION, b"<html><body>Lorem ipsum.</body></html>", "parser_broken"),
        (FANFICTION, b"\xff\xfe\x00", "parser_broken"),
        (FANFICTION, b"Please check to see you are not using an outdated url.", "parser_broken"),
        (SQUIDGE, META, "page_missing"),
        (ROYALROAD.model_copy(update={"url": "https://example.com/1"}), b"", "not_found"),
    ],
)  # fmt: skip
async def test_f9_a_saved_page_that_shows_no_work_says_why(
    reader: FanFicFare, ref: FicRef, body: bytes, code: str
) -> None:
    with pytest.raises(PermanentError) as raised:
        await reader.read_saved(ref, body)
    assert raised.value.code == code


async def test_f9_the_missing_page_is_named(reader: FanFicFare) -> None:
    with pytest.raises(PermanentError, match=r"squidgeworld\.org/works/4711\?view_adult"):
        await reader.read_saved(SQUIDGE, META)


@pytest.mark.parametrize(
    ("pages", "code"),
    [
        (
            BOTH_PAGES | {WORK_PAGE: b"This work is part of an ongoing challenge and will be revealed soon!"},
            "unrevealed",
        ),
        (BOTH_PAGES | {NAVIGATE_PAGE: MEMBERS_ONLY}, "login_required"),
        (BOTH_PAGES | {WORK_PAGE: ADULT_GATE % b"@elsewhere.example/works/1"}, "bad_redirect"),
        (BOTH_PAGES | {WORK_PAGE: ADULT_GATE % b":8443/works/1"}, "bad_redirect"),
        (BOTH_PAGES | {WORK_PAGE: ADULT_GATE % b".elsewhere.example/works/1"}, "bad_redirect"),
        (BOTH_PAGES | {WORK_PAGE: b"x" * (17 << 20)}, "parser_broken"),
    ],
    ids=["unrevealed", "members only", "userinfo", "port", "another host", "too large"],
)  # fmt: skip
async def test_f9_pages_that_lead_elsewhere_or_nowhere(
    reader: FanFicFare, pages: Mapping[str, bytes], code: str
) -> None:
    with pytest.raises(PermanentError) as raised:
        await reader.read(SQUIDGE, pages)
    assert raised.value.code == code


async def test_f9_an_adult_gate_is_passed_by_its_own_link(reader: FanFicFare) -> None:
    gate = BOTH_PAGES | {WORK_PAGE: ADULT_GATE % b"/works/4711/chapters/1?view_adult=true"}
    assert await reader.read(SQUIDGE, gate) == PageWanted(f"{WORK}/chapters/1?view_adult=true")


@pytest.mark.parametrize("probe", [name for name in fanficfare_probe.PROBES if name != "hang"])
async def test_f1_a_child_reaches_no_network_starts_nothing_and_writes_nothing(
    reader: FanFicFare, probe: str
) -> None:
    async with _listening() as (port, connections):
        with pytest.raises(PermanentError) as raised:
            await reader.read(_probe(f"{probe}:{port}"), {})
        assert isinstance(await reader.read(SQUIDGE, {}), PageWanted)
        assert connections == []
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await writer.wait_closed()
    assert connections == ["seen"]
    assert "it worked" not in raised.value.message


async def test_f9_a_page_that_takes_for_ever_is_cut_off_and_the_next_is_read(reader: FanFicFare) -> None:
    with pytest.raises(PermanentError, match="longer than 2 s") as raised:
        await reader.read(_probe("hang"), {})
    assert raised.value.code == "parser_broken"
    assert reader.pids == []
    assert isinstance(await reader.read(SQUIDGE, BOTH_PAGES), Fic)


async def test_f9_a_killed_child_is_an_error_to_retry_and_the_next_page_is_read(reader: FanFicFare) -> None:
    await reader.read(SQUIDGE, {})
    reading = asyncio.create_task(reader.read(_probe("hang"), {}))
    await asyncio.sleep(0.1)
    os.kill(reader.pids[0], signal.SIGKILL)
    with pytest.raises(RetryableError) as raised:
        await reading
    assert raised.value.code == "transient"
    assert isinstance(await reader.read(SQUIDGE, BOTH_PAGES), Fic)


async def test_a_reader_without_work_has_no_process_and_one_that_closes_refuses_work() -> None:
    async with FanFicFare(2) as idle:
        assert idle.pids == []
    with pytest.raises(FascicleError, match="shutting down"):
        await idle.read(SQUIDGE, {})


async def test_closing_ends_a_page_under_way() -> None:
    async with FanFicFare(1, child=fanficfare_probe.__name__) as reader:
        reading = asyncio.create_task(reader.read(_probe("hang"), {}))
        while not reader.pids:
            await asyncio.sleep(0.01)
    with pytest.raises(RetryableError):
        await reading
    assert reader.pids == []


def _probe(what: str) -> FicRef:
    return FicRef(site="probe", kind=FicKind.WORK, id="1", url=f"probe:{what}")


@asynccontextmanager
async def _listening() -> AsyncIterator[tuple[int, list[str]]]:
    connections: list[str] = []

    def see(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append("seen")
        writer.close()

    server = await asyncio.start_server(see, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], connections
