"""Reading AO3's pages: our parser against FanFicFare's own AO3 adapter, which gets its pages from memory.

python -m bench.fics [--seconds 5]    (about ten seconds; no stack, no network)

The recorded pages beside the project where they are, else the simulator's.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.command import at_least_one, open_table
from fascicle.domain.fics.fic import Fic, FicRef
from fascicle.domain.fics.fic_url import normal_form
from fascicle.sites.ao3 import read_page
from fascicle.sites.fanficfare.offline import PagesInHand, offline_adapter
from simulator.ao3.archive import Archive
from simulator.ao3.records import WorkSpec
from simulator.ao3.work_page import work_page

_RECORDED = Path(__file__).parents[2] / "shared" / "fixtures" / "fic"
_AIM = 20
# Our parser is so fast that the clock is too coarse for single pages.
_TIMES_AS_OFTEN = 20

Facts = tuple[int | None, int | None, list[str]]
"""Words, chapters, relationships: the facts by which both readers are compared."""

_NOTES = """\
Works only: FanFicFare reads no series. Both are given the same pages, in one process, by turns, and have to
find the same words, chapters and relationships before the clock starts. Processor time. FanFicFare opens a
work with two pages; the second, its list of chapters, has a single line here. "Prepared" leaves out what it
does before it parses: it reads its settings anew for each work, as it has to."""


@dataclass(frozen=True)
class Page:
    ref: FicRef
    body: bytes


@dataclass
class Rate:
    pages: int = 0
    seconds: float = 0.0

    def add(self, seconds: float, pages: int = 1) -> None:
        self.pages += pages
        self.seconds += seconds

    @property
    def per_second(self) -> float:
        return self.pages / self.seconds


@dataclass(frozen=True)
class Rates:
    ours: Rate
    whole: Rate
    parsing: Rate


def recorded_pages() -> list[Page]:
    files = sorted(_RECORDED.glob("ao3_work_*.html"))
    numbers = [file.stem.rpartition("_")[2] for file in files]
    return [_page(number, file.read_bytes()) for number, file in zip(numbers, files, strict=True)]


def simulated_pages(count: int = 5) -> list[Page]:
    archive = Archive()
    spec = WorkSpec(
        relationships=tuple(f"Aki/Ben {n}" for n in range(5)),
        characters=tuple(f"Person {n}" for n in range(10)),
        tags=tuple(f"Tag {n}" for n in range(20)),
        padding=20_000,
    )
    works = [archive.add_work(spec) for _ in range(count)]
    return [_page(str(work.id), b"".join(work_page(work, [], None))) for work in works]


def _page(number: str, body: bytes) -> Page:
    return Page(normal_form(f"https://archiveofourown.org/works/{number}"), body)


def read_ours(page: Page) -> Fic:
    found = read_page(page.body, page.ref)
    assert isinstance(found, Fic)
    return found


def facts_of(fic: Fic) -> Facts:
    return fic.words, fic.chapters, fic.relationships


def prepared_fanficfare(page: Page) -> Callable[[], Facts]:
    """A prepared FanFicFare adapter, ready to parse; each adapter parses once."""
    url, path = page.ref.url, f"/works/{page.ref.id}"
    chapters = f"""<h2 class="heading"><a href="{path}">A title</a></h2><ol class="chapter index">
        <li><a href="{path}/chapters/1">1. One</a> <span class="datetime">(2022-12-19)</span></li></ol>"""
    pages = {f"{url}/navigate?view_adult=true": chapters.encode(), f"{url}?view_adult=true": page.body}
    adapter = offline_adapter(url, PagesInHand(pages))

    def parse() -> Facts:
        story = adapter.getStoryMetadataOnly(get_cover=False)
        words = int(story.getMetadata("numWords").replace(",", ""))
        posted = int(story.getMetadata("chapterslashtotal").partition("/")[0])
        return words, posted, story.getList("ships", removeallentities=True)

    return parse


def check_agreement(pages: Sequence[Page]) -> None:
    for page in pages:
        ours, theirs = facts_of(read_ours(page)), prepared_fanficfare(page)()
        if ours != theirs:
            raise SystemExit(f"{page.ref.url}: we read {ours}, FanFicFare reads {theirs}")


def measure(pages: Sequence[Page], seconds: float) -> Rates:
    """Measure in turns, so that other load on the machine disturbs both readers alike."""
    ours, whole, parsing = Rate(), Rate(), Rate()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for page in pages:
            begun = time.process_time()
            for _ in range(_TIMES_AS_OFTEN):
                read_ours(page)
            read = time.process_time()
            parse = prepared_fanficfare(page)
            prepared = time.process_time()
            parse()
            parsed = time.process_time()
            ours.add(read - begun, _TIMES_AS_OFTEN)
            whole.add(parsed - read)
            parsing.add(parsed - prepared)
    return Rates(ours, whole, parsing)


def print_parsing(rates: Rates, pages: Sequence[Page], origin: str) -> None:
    kib = sum(len(page.body) for page in pages) / len(pages) / 1024
    console, table = open_table(
        f"reading AO3's works: {len(pages)} {origin} pages of {kib:.0f} KiB on average"
    )
    for column in ("reader", "pages/s", "ms a page", "ours is faster by"):
        table.add_column(column, justify="left" if column == "reader" else "right")
    rows = {
        "ours": rates.ours,
        "FanFicFare's AO3 adapter": rates.whole,
        "  prepared, parsing only": rates.parsing,
    }
    for name, rate in rows.items():
        factor = "" if rate is rates.ours else f"{rates.ours.per_second / rate.per_second:.0f} times"
        table.add_row(name, f"{rate.per_second:,.1f}", f"{1000 / rate.per_second:.2f}", factor)
    console.print(table)
    console.print(_NOTES)
    reached = rates.ours.per_second / rates.whole.per_second
    console.print(f"The aim, {_AIM} times FanFicFare's pace: {'met' if reached >= _AIM else 'missed'}.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=at_least_one, default=5, help="how long to parse")
    seconds = parser.parse_args().seconds
    recorded = recorded_pages()
    pages = recorded or simulated_pages()
    check_agreement(pages)
    print_parsing(measure(pages, seconds), pages, "recorded" if recorded else "simulated")


if __name__ == "__main__":
    main()
