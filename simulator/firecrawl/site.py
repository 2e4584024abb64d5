"""Firecrawl as an upstream."""

from typing import Any

import orjson

from simulator.answers import Answer
from simulator.firecrawl.crawler import Crawler
from simulator.firecrawl.errors import failure, status_answer
from simulator.firecrawl.records import FirecrawlOptions, ScrapeCall, ScrapeScript
from simulator.firecrawl.scraping import UnreachableError, scrape
from simulator.metered import MeteredSite, Outcome
from simulator.press import Press


class Firecrawl(MeteredSite[FirecrawlOptions, ScrapeScript, ScrapeCall]):
    prefix = "/firecrawl"
    path = "/v2/scrape"

    def __init__(self, crawler: Crawler, press: Press) -> None:
        super().__init__(crawler)
        self._press = press

    def error(self, status: int, retry_after: str | None) -> Answer:
        return status_answer(status, retry_after)

    def _call(self, body: dict[str, Any]) -> ScrapeCall:
        return ScrapeCall(url=str(body.get("url", "")))

    def _subject(self, call: ScrapeCall) -> str:
        return call.url

    def _outcome(self, body: dict[str, Any], call: ScrapeCall, script: ScrapeScript | None) -> Outcome:
        problem = _problem(body, call)
        if problem is not None:
            return Outcome(status_answer(400, None, problem))
        if script is not None and script.kind == "status":
            return Outcome(status_answer(script.status, script.retry_after))
        if script is not None and script.kind == "failed_inside":
            return Outcome(Answer(200, failure(500)))
        try:
            page = scrape(self._press, call.url, only_main=body.get("onlyMainContent", True))
        except UnreachableError as error:
            return Outcome(status_answer(error.status, None))
        call.origin_status = page.status
        cost = self._service.options.credits_per_scrape
        whole = orjson.dumps({"success": True, "data": page.document(call.url, cost)})
        return Outcome(Answer(200, _spoiled(whole, script)), paid=True, cost=cost)


def _problem(body: dict[str, Any], call: ScrapeCall) -> str | None:
    """Firecrawl's error message for a wrong request, or None."""
    formats = body.get("formats", ["markdown"])
    if not call.url.startswith(("http://", "https://")):
        return "Bad Request: Invalid URL"
    if not isinstance(formats, list) or not any(_is_markdown(wanted) for wanted in formats):
        return "Bad Request: formats: only markdown is simulated"
    return None


def _is_markdown(wanted: Any) -> bool:
    return wanted == "markdown" or (isinstance(wanted, dict) and wanted.get("type") == "markdown")


def _spoiled(whole: bytes, script: ScrapeScript | None) -> bytes:
    if script is None:
        return whole
    return b"upstream connect error" if script.kind == "invalid_json" else whole[: len(whole) // 2]
