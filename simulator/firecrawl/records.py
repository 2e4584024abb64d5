"""How the simulated Firecrawl is told to behave, and what is kept of each call."""

from typing import Annotated, Literal

from pydantic import Field

from simulator.metered.records import PaidCall, Script, ServiceOptions

ScriptKind = Literal["status", "failed_inside", "invalid_json", "half_json"]


class FirecrawlOptions(ServiceOptions):
    """`credits_per_scrape` is the cost of an answer that was a success."""

    credits_per_scrape: Annotated[float, Field(ge=0)] = 1.0


class ScrapeScript(Script):
    """How the next calls are answered, those whose address contains `url` or any.

    `status`: that HTTP status, with `retry_after` (seconds or an HTTP date) where given. `failed_inside` is
    `success: false` inside a 200. Neither is paid for; `invalid_json` and `half_json`, which spoil the body
    of an answer, are.
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
    """`origin_status` is what the answer says the page itself was answered with."""

    url: str
    origin_status: int | None = None
