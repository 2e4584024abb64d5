import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser

from simulator.ao3 import Ao3SeriesSpec, Archive, Place, WorkSpec
from simulator.ao3.archive import UnknownWorkError
from simulator.ao3.demo import LONG_WORK, ONE_SHOT, OTHER_PAIRING, SERIES, SERIES_WORKS
from simulator.ao3.errors import challenge_page, maintenance_page
from simulator.app import SimulatorApp
from simulator.faults import Fault
from simulator.simulation import Simulation

COOKIE = {"Cookie": "view_adult=true"}


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


class Reader:
    """Reads the simulated archive in process."""

    def __init__(self, loop: asyncio.Runner) -> None:
        self.simulation = Simulation()
        self.archive = self.simulation.ao3
        self._loop = loop
        self._transport = httpx.ASGITransport(SimulatorApp(self.simulation))

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self._loop.run(self._get(path, options))

    async def _get(self, path: str, options: dict[str, Any]) -> httpx.Response:
        client = httpx.AsyncClient(transport=self._transport, base_url="http://sim.test/ao3", trust_env=False)
        async with client:
            return await client.get(path, **options)


@pytest.fixture
def ao3(loop: asyncio.Runner) -> Reader:
    return Reader(loop)


def page(answer: httpx.Response) -> LexborHTMLParser:
    return LexborHTMLParser(answer.text)


def texts(tree: LexborHTMLParser, selector: str) -> list[str]:
    return [" ".join(node.text().split()) for node in tree.css(selector)]


def main_class(answer: httpx.Response) -> str:
    main = page(answer).css_first("#main")
    assert main is not None
    return str(main.attributes["class"]).split()[0]


def test_a_works_page_carries_what_its_spec_says(ao3: Reader) -> None:
    series = ao3.archive.add_series(Ao3SeriesSpec(title="Winter & Co"))
    spec = WorkSpec(
        title="Salt & <Pepper>",
        authors=("ann", "bo"),
        fandoms=("Kitchens",),
        relationships=("Salt/Pepper", "Salt & Sugar"),
        characters=("Salt",),
        tags=("Slow Burn",),
        words=12345,
        rating="Teen And Up Audiences",
        summary="<p>So <em>dry</em></p><script>1</script>",
        series=(Place(series=series.id, part=3),),
        translators=("cy",),
        inspired_by=("dee",),
    )
    work = ao3.archive.add_work(spec)
    answer = ao3.get(f"/works/{work.id}")
    tree = page(answer)
    assert (answer.status_code, main_class(answer)) == (200, "works-show")
    assert texts(tree, "h2.title.heading") == ["Salt & <Pepper>"]
    assert texts(tree, "h3.byline.heading a[rel=author]") == ["ann", "bo"]
    assert texts(tree, "dl.work.meta.group dd.relationship a.tag") == ["Salt/Pepper", "Salt & Sugar"]
    assert texts(tree, "dl.work.meta.group dd.rating a.tag") == ["Teen And Up Audiences"]
    assert texts(tree, "dd.language") == ["English"]
    assert texts(tree, "dl.stats dd.words") == ["12,345"]
    assert texts(tree, "dl.stats dd.chapters") == ["1/1"]
    assert texts(tree, "dd.series span.position") == ["Part 3 of Winter & Co"]
    assert texts(tree, "ul.associations a[rel=author]") == ["cy", "dee"]
    assert tree.css_first(".summary blockquote.userstuff em") is not None
    assert "<script>1</script>" in answer.text
    assert f"updated_at={work.change_token}" in answer.text


@pytest.mark.parametrize(
    ("fields", "status", "kind", "selector", "text"),
    [
        pytest.param({}, 200, "works-show", "dl.work.meta.group dd.fandom a", "Original Work", id="one-shot"),
        pytest.param({"anonymous": True}, 200, "works-show", "h3.byline", "Anonymous", id="anonymous"),
        pytest.param({"adult": True}, 200, "works-show", "p.caution", "adults", id="adult"),
        pytest.param({"rating": "Explicit"}, 200, "works-show", "p.caution", "adults", id="adult by rating"),
        pytest.param({"unrevealed": True}, 200, "works-show", "p.notice", "revealed soon", id="unrevealed"),
        pytest.param({"deleted": True}, 404, "error-404", "#main h2", "Error 404", id="deleted"),
    ],
)
def test_what_a_guest_sees_at_once(
    ao3: Reader, fields: dict[str, Any], status: int, kind: str, selector: str, text: str
) -> None:
    work = ao3.archive.add_work(WorkSpec(**fields))
    answer = ao3.get(f"/works/{work.id}")
    assert answer.status_code == status
    assert page(answer).css_first(f"#main.{kind}") is not None
    assert text in " ".join(texts(page(answer), selector))


@pytest.mark.parametrize("how", [{"headers": COOKIE}, {"params": {"view_adult": "true"}}])
def test_consent_opens_the_adult_gate_which_shows_the_blurb_before(ao3: Reader, how: dict[str, Any]) -> None:
    work = ao3.archive.add_work(WorkSpec(title="Hot", adult=True, words=77))
    gate = page(ao3.get(f"/works/{work.id}"))
    assert gate.css_first("dl.work.meta") is None
    assert texts(gate, f"li#work_{work.id}.work.blurb h4.heading a") == ["Hot", "an_author"]
    assert texts(gate, "li.work.blurb dd.words") == ["77"]
    assert page(ao3.get(f"/works/{work.id}", **how)).css_first("dl.work.meta.group") is not None


def test_a_work_of_several_chapters_redirects_to_the_first_below_the_prefix(ao3: Reader) -> None:
    work = ao3.archive.add_work(WorkSpec(chapters=3, chapters_total=None))
    first = work.chapter_ids()[0]
    answer = ao3.get(f"/works/{work.id}")
    assert answer.status_code == 302
    assert answer.headers["location"] == f"http://sim.test/ao3/works/{work.id}/chapters/{first}"
    shown = ao3.get(f"/works/{work.id}", follow_redirects=True)
    assert main_class(shown) == "chapters-show"
    assert texts(page(shown), "dd.chapters") == ["3/?"]
    assert main_class(ao3.get(f"/works/{work.id}", params={"view_full_work": "true"})) == "works-show"
    index = ao3.get(f"/works/{work.id}/navigate")
    assert main_class(index) == "works-navigate"
    assert len(page(index).css("ol.chapter.index li a")) == 3
    assert ao3.get(f"/chapters/{first}").headers["location"].endswith(f"/works/{work.id}/chapters/{first}")


@pytest.mark.parametrize("path", ["/works/5/chapters/1", "/works/6", "/series/6", "/chapters/5002", "/tags"])
def test_what_is_not_there_is_the_archives_404(ao3: Reader, path: str) -> None:
    ao3.archive.add_work(WorkSpec(id=5))
    answer = ao3.get(path)
    assert answer.status_code == 404
    assert page(answer).css_first("#main.error-404") is not None


def test_a_restricted_work_leads_to_the_login_page(ao3: Reader) -> None:
    ao3.archive.add_work(WorkSpec(id=5, restricted=True))
    answer = ao3.get("/works/5", params={"view_adult": "true"})
    assert answer.status_code == 302
    assert answer.headers["location"] == (
        "http://sim.test/ao3/users/login?restricted=true&return_to=%2Fworks%2F5%3Fview_adult%3Dtrue"
    )
    login = ao3.get("/works/5", follow_redirects=True)
    assert (login.status_code, main_class(login)) == (200, "sessions-new")


def test_works_that_misbehave(ao3: Reader) -> None:
    ao3.archive.add_work(WorkSpec(id=5, redirect_to="http://elsewhere.test/works/1"))
    ao3.archive.add_work(WorkSpec(id=6, broken=True))
    assert ao3.get("/works/5").headers["location"] == "http://elsewhere.test/works/1"
    broken = page(ao3.get("/works/6"))
    assert broken.css_first("#main.works-show") is not None
    assert broken.css_first("dl.work.meta") is None


@pytest.mark.parametrize("padding", [0, 10, 300_000])
def test_a_page_is_as_long_as_asked(ao3: Reader, padding: int) -> None:
    plain = ao3.archive.add_work(WorkSpec())
    long = ao3.archive.add_work(WorkSpec(padding=padding))
    sizes = [len(ao3.get(f"/works/{work.id}").content) for work in (plain, long)]
    assert sizes[1] - sizes[0] == padding


def test_a_series_lists_twenty_works_a_page_and_hides_the_restricted(ao3: Reader) -> None:
    flags: dict[int, dict[str, bool]] = {
        2: {"restricted": True},
        3: {"broken_blurb": True},
        4: {"unrevealed": True},
        5: {"deleted": True},
    }
    works = [
        ao3.archive.add_work(WorkSpec(title=f"W{n}", words=10, **flags.get(n, {}))).id for n in range(1, 26)
    ]
    series = ao3.archive.add_series(Ao3SeriesSpec(title="Many", works=tuple(works), summary="<p>Lots</p>"))
    first, second = (page(ao3.get(f"/series/{series.id}", params={"page": str(n)})) for n in (1, 2))
    assert texts(first, "#main.series-show h2.heading") == ["Many"]
    assert texts(first, "dl.series.meta dd.works") == ["24"]
    assert [len(tree.css("ul.series.work.index > li.blurb")) for tree in (first, second)] == [20, 3]
    assert texts(first, f"li#work_{works[0]} ul.series li") == ["Part 1 of Many"]
    assert texts(second, f"li#work_{works[24]} ul.series li") == ["Part 25 of Many"]
    assert first.css_first(f"li#work_{works[1]}") is None
    assert texts(first, f"li#work_{works[2]} h4.heading") == []
    assert texts(first, f"li#work_{works[3]} h4.heading") == ["Mystery Work"]
    assert texts(first, "ol.pagination li.next a") == ["Next →"] * 2
    assert texts(second, "ol.pagination li.next a") == []


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        (Fault(status=403), 403, "Access blocked"),
        (Fault(status=429, retry_after=30), 429, "Retry later"),
        (Fault(status=445), 445, "error-445"),
        (Fault(status=502), 502, "error-502"),
        (Fault(status=503), 503, "responding too slowly"),
        (Fault(status=503, body=maintenance_page()), 503, "down for maintenance"),
        (Fault(status=525), 525, "Error 525"),
        (Fault(status=403, body=challenge_page()), 403, "Just a moment..."),
    ],
)
def test_statuses_come_with_the_page_the_archive_would_send(
    ao3: Reader, fault: Fault, status: int, text: str
) -> None:
    ao3.archive.add_work(WorkSpec(id=5))
    ao3.simulation.faults.add(fault.model_copy(update={"path": "/ao3/", "count": 1}))
    answer = ao3.get("/works/5")
    assert answer.status_code == status
    assert text in answer.text
    assert answer.headers.get("retry-after") == (str(fault.retry_after) if fault.retry_after else None)
    assert ao3.get("/works/5").status_code == 200


def test_the_log_tells_when_each_page_was_asked_for(ao3: Reader) -> None:
    work = ao3.archive.add_work(WorkSpec(chapters=2))
    ao3.get(f"/works/{work.id}", follow_redirects=True)
    entries = ao3.simulation.requests.matching("/ao3/")
    assert [(entry.path, entry.status) for entry in entries] == [
        (f"/ao3/works/{work.id}", 302),
        (f"/ao3/works/{work.id}/chapters/{work.chapter_ids()[0]}", 200),
    ]
    assert entries[0].monotonic <= entries[1].monotonic


def test_a_work_that_changes_has_another_change_token() -> None:
    archive = Archive()
    before = archive.add_work(WorkSpec(chapters=1, chapters_total=None, words=100))
    after = archive.update_work(before.id, WorkSpec(chapters=2, words=250))
    assert (after.chapters, after.words, after.title) == (2, 250, before.title)
    assert after.change_token > before.change_token
    assert after.chapter_ids()[:1] == before.chapter_ids()


def test_the_archive_is_kept_in_its_file(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    work = Simulation.begin("empty", state).ao3.add_work(WorkSpec(title="Kept"))
    again = Simulation.begin("empty", state)
    assert again.ao3.work(work.id) == work
    assert again.ao3.add_work(WorkSpec()).id != work.id
    again.reset()
    with pytest.raises(UnknownWorkError):
        again.ao3.work(work.id)


def test_the_demo_has_its_works() -> None:
    simulation = Simulation.begin("demo")
    works = [simulation.ao3.work(work_id) for work_id in (ONE_SHOT, LONG_WORK, OTHER_PAIRING, *SERIES_WORKS)]
    assert all("Supernatural" in work.fandoms for work in works)
    assert [work.id for _, work in simulation.ao3.members(simulation.ao3.series(SERIES))] == [*SERIES_WORKS]
    assert "Castiel/Dean Winchester" not in simulation.ao3.work(OTHER_PAIRING).relationships
