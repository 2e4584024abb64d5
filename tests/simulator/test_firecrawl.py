import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from simulator.client import SimulatorControl
from simulator.faults import Fault
from simulator.firecrawl import Crawler, ScrapeScript
from simulator.press import ArticleSpec, Press
from simulator.server import RunningSimulator
from tests.simulator.conftest import client

KEY = {"Authorization": "Bearer fc-key"}
PATH = "/v2/scrape"


@pytest.fixture
def press(simulator: RunningSimulator) -> Press:
    simulator.press.add(ArticleSpec(title="A Story", language="de", words=100))
    return simulator.press


@pytest.fixture
def crawler(simulator: RunningSimulator) -> Crawler:
    return simulator.firecrawl


@pytest.fixture
def api(simulator: RunningSimulator, press: Press) -> Iterator[httpx.Client]:
    with client(simulator.firecrawl_url) as http:
        http.headers.update(KEY)
        yield http


@pytest.fixture
async def remote(simulator: RunningSimulator) -> AsyncIterator[SimulatorControl]:
    async with SimulatorControl(simulator.url) as control:
        yield control


def body(slug: str = "a-story", **more: Any) -> dict[str, Any]:
    address = f"https://courier.test/press/articles/{slug}"
    return {"url": address, "formats": ["markdown"], "onlyMainContent": True, "timeout": 30000, **more}


def test_a_page_of_the_press_is_brought_back(api: httpx.Client, press: Press, crawler: Crawler) -> None:
    answer = api.post(PATH, json=body()).json()
    data, metadata = answer["data"], answer["data"]["metadata"]
    article = press.article("a-story")
    assert data["markdown"] == "\n\n".join(["# A Story", "By Mio Harrowgate", *article.body])
    assert (metadata["title"], metadata["language"], metadata["statusCode"]) == ("A Story", "de", 200)
    assert metadata["sourceURL"] == metadata["url"] == body()["url"]
    (call,) = crawler.calls()
    assert (call.url, call.status, call.origin_status) == (body()["url"], 200, 200)
    assert (call.paid, call.cost, call.sent) == (True, 1.0, True)
    assert "Most read" in api.post(PATH, json=body(onlyMainContent=False)).json()["data"]["markdown"]


@pytest.mark.parametrize(
    ("spec", "status", "said"),
    [
        (ArticleSpec(kind="soft_404", slug="x"), 200, "Page not found"),
        (ArticleSpec(kind="login", slug="x"), 200, "Log in to continue"),
        (ArticleSpec(kind="listing", slug="x"), 200, "- [Home:"),
        (ArticleSpec(kind="injection", slug="x"), 200, "SAY: "),
        (ArticleSpec(kind="pdf", slug="x"), 200, "# The pdf page"),
        (ArticleSpec(kind="image", slug="x"), 200, ""),
        (ArticleSpec(kind="status", status=403, slug="x"), 403, "Access denied"),
        (ArticleSpec(slug="not-x"), 404, "# Page not found"),
    ],
)
def test_the_origins_answer_is_told_inside_a_200(
    api: httpx.Client, press: Press, crawler: Crawler, spec: ArticleSpec, status: int, said: str
) -> None:
    press.add(spec)
    answer = api.post(PATH, json=body("x"))
    assert (answer.status_code, answer.json()["success"]) == (200, True)
    assert answer.json()["data"]["metadata"]["statusCode"] == crawler.calls()[0].origin_status == status
    assert said in answer.json()["data"]["markdown"]


@pytest.mark.parametrize(("kind", "status"), [("redirect", 500), ("redirect_loop", 500), ("endless", 408)])
def test_pages_that_cannot_be_read_are_errors(
    api: httpx.Client, press: Press, crawler: Crawler, kind: Any, status: int
) -> None:
    press.add(ArticleSpec(kind=kind, slug="x"))
    answer = api.post(PATH, json=body("x"))
    assert (answer.status_code, answer.json()["success"]) == (status, False)
    assert crawler.tally().paid == 0


@pytest.mark.parametrize(
    ("headers", "payload", "status"),
    [
        (KEY, body(), 200),
        (KEY, body(formats=[{"type": "markdown"}]), 200),
        ({}, body(), 401),
        ({"Authorization": "Bearer other"}, body(), 401),
        (KEY, body(url="file:///etc"), 400),
        (KEY, body(formats=["html"]), 400),
        (KEY, [], 400),
    ],
)
def test_who_may_ask_for_what(
    simulator: RunningSimulator, http: httpx.Client, headers: dict[str, str], payload: Any, status: int
) -> None:
    simulator.firecrawl.configure(api_key="fc-key")
    answer = http.post(f"{simulator.firecrawl_url}{PATH}", json=payload, headers=headers)
    assert (answer.status_code, answer.json()["success"]) == (status, status == 200)
    assert [call.status for call in simulator.firecrawl.calls()] == [status]


@pytest.mark.parametrize("status", [400, 402, 403, 408, 429, 500, 502])
def test_statuses_are_scripted(api: httpx.Client, crawler: Crawler, status: int) -> None:
    crawler.script(ScrapeScript(status=status, retry_after=5, url="a-story"))
    answers = [api.post(PATH, json=body(slug)) for slug in ("other", "a-story", "a-story")]
    assert [answer.status_code for answer in answers] == [200, status, 200]
    assert (answers[1].json()["success"], answers[1].headers["retry-after"]) == (False, "5")
    assert [call.script for call in crawler.calls()] == [None, f"status {status}", None]


def test_a_200_may_be_a_failure(api: httpx.Client, crawler: Crawler) -> None:
    crawler.script(*(ScrapeScript(kind=kind) for kind in ("failed_inside", "invalid_json", "half_json")))
    failed, *spoiled = (api.post(PATH, json=body()) for _ in range(3))
    assert (failed.status_code, failed.json()["success"]) == (200, False)
    for answer in spoiled:
        with pytest.raises(json.JSONDecodeError):
            answer.json()
    assert [call.paid for call in crawler.calls()] == [False, True, True]


def test_faults_speak_as_firecrawl_does(simulator: RunningSimulator, api: httpx.Client) -> None:
    simulator.faults.add(Fault(path="/firecrawl/", status=502, count=1))
    assert api.post(PATH, json=body()).json() == {"success": False, "error": "Bad Gateway"}
    assert api.get(PATH).status_code == 405
    assert simulator.firecrawl.tally().calls == 0


async def test_all_of_it_from_another_process(
    simulator: RunningSimulator, remote: SimulatorControl, api: httpx.Client
) -> None:
    await remote.firecrawl.configure(credits_per_scrape=5, latency=0.05)
    await remote.firecrawl.script(ScrapeScript(status=402))
    answers = await asyncio.gather(*(asyncio.to_thread(api.post, PATH, json=body()) for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 402]
    tally = await remote.firecrawl.tally()
    assert (tally.calls, tally.paid, tally.cost, tally.most_at_once) == (2, 1, 5, 2)
    assert {call.url for call in await remote.firecrawl.calls()} == {body()["url"]}
    await remote.reset()
    assert (await remote.firecrawl.calls(), await remote.press.articles()) == ([], [])
