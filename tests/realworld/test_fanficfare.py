"""FanFicFare on pages recorded from real sites."""

from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import pytest

from fascicle.domain.fics.fic import Fic, FicKind, FicRef
from fascicle.sites.fanficfare import FanFicFare, PageWanted

FANFICTION = FicRef(
    site="fanfiction.net",
    kind=FicKind.WORK,
    id="8508883",
    url="https://www.fanfiction.net/s/8508883/1/",
)
WATTPAD = FicRef(
    site="wattpad.com", kind=FicKind.WORK, id="173080052", url="https://www.wattpad.com/story/173080052"
)


@pytest.fixture(scope="module")
async def reader() -> AsyncIterator[FanFicFare]:
    async with FanFicFare(1) as reader:
        yield reader


async def test_f1_a_page_of_fanfiction_net_saved_from_a_browser(
    reader: FanFicFare, fixtures_folder: Path
) -> None:
    saved = (fixtures_folder / "fic" / "ffn_story_8508883.html").read_bytes()
    fic = await reader.read_saved(FANFICTION, saved)
    assert fic.summary is not None
    assert fic.summary.startswith("Banished")
    assert fic.model_copy(update={"summary": None}) == Fic(
        site="fanfiction.net",
        id="8508883",
        url=FANFICTION.url,
        title="Naruto Guardian Of The Mist",
        authors=["SSJ3 Kyuubi Gohan"],
        author_urls=["https://www.fanfiction.net/u/3058796/SSJ3-Kyuubi-Gohan"],
        fandoms=["Naruto"],
        relationships=["Naruto U./Mei T./Ameyuri R."],
        characters=["Naruto U.", "Mei T.", "Ameyuri R."],
        tags=["Adventure", "Romance"],
        rating="M",
        language="English",
        words=56_452,
        chapters=12,
        complete=False,
        published_on=date(2012, 9, 8),
        updated_on=date(2020, 5, 16),
    )


async def test_f1_wattpads_answer(reader: FanFicFare, fixtures_folder: Path) -> None:
    recorded = (fixtures_folder / "fic" / "wattpad_story_173080052.json").read_bytes()
    wanted = await reader.read(WATTPAD, {})
    assert wanted == PageWanted("https://www.wattpad.com/api/v3/stories/173080052")
    fic = await reader.read(WATTPAD, {wanted.url: recorded})
    assert isinstance(fic, Fic)
    assert (fic.title, fic.authors, fic.fandoms) == ("The Kids Aren't Alright", ["bee_mcd"], ["Teen Fiction"])
    assert (fic.chapters, fic.complete, fic.language) == (77, True, "English")
    assert (fic.published_on, fic.updated_on) == (date(2019, 1, 2), date(2024, 1, 22))
    assert len(fic.tags) == 25
    assert fic == await reader.read_saved(WATTPAD, recorded)
