"""The options and scripts of the simulated Firecrawl, and its record of a call."""

from typing import Annotated, Literal

from pydantic import Field

from simulator.metered.records import PaidCall, Script, ServiceOptions

ScriptKind = Literal["status", "failed_inside", "invalid_json", "half_json"]


class FirecrawlOptions(ServiceOptions):
    """`credits_per_scrape` is the cost of a successful answer."""

    credits_per_scrape: Annotated[float, Field(ge=0)] = 1.0


class ScrapeScript(Script):
    """How to answer the next calls whose address contains `url`; without `url`, all calls.

    `status`: that HTTP status, with `retry_after` (seconds or an HTTP date) if given. `failed_inside` is
    `success: false` inside a 200. These two cost nothing; `invalid_json` and `half_json`, which spoil the
    body of an answer, cost as usual.
    """

    kind: ScriptKind = "status"
    url: str = ""
    status: Annotated[int, Field(ge=400, le=599)] = 500
    retry_after: str | None = None

    @property
    def name(self) -> str:
        return f"status {self.status}" if self.kind == "status" else self.kind

    def concerns(self, subject: str) -> bool:
        return self.url in subject


class ScrapeCall(PaidCall):
    """`origin_status` is the status of the page itself, as the answer reports it."""

    url: str
    origin_status: int | None = None
