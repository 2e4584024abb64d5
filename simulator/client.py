"""A client of the control API, for a simulator that runs in another process."""

import asyncio
import ssl
from types import TracebackType
from typing import Any

import httpx
import orjson
from pydantic import BaseModel, TypeAdapter

from simulator.ao3.records import Ao3Series, Ao3SeriesSpec, Work, WorkSpec
from simulator.deviantart.client import DeviantArtClient
from simulator.discord.client import DiscordClient
from simulator.faults import Fault, FaultReport
from simulator.feeds.client import FeedsClient
from simulator.firecrawl.client import FirecrawlClient
from simulator.llm.client import LlmClient
from simulator.press.client import PressClient
from simulator.rate_limit import RateLimit
from simulator.request_log import LoggedRequest
from simulator.simulation import WorldName
from simulator.sink import SinkMessage
from simulator.specs import SeriesSpec, SeriesStatus, UploadSpec
from simulator.upload import Upload

TIMEOUT = httpx.Timeout(30.0)
# Loading all certificates costs 40 ms of CPU per client, and the simulator speaks plain HTTP.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
HELD_CHECK_SECONDS = 0.02

UPLOADS = TypeAdapter(list[Upload])
UPLOAD = TypeAdapter(Upload)
REPORTS = TypeAdapter(list[FaultReport])
REQUESTS = TypeAdapter(list[LoggedRequest])
MESSAGES = TypeAdapter(list[SinkMessage])


class SeriesAddress(BaseModel):
    """`url` is the series in the simulated MangaDex API, `site_url` its address on the real site.

    `pages` are its pages on the simulated sites, by the site's name.
    """

    id: str
    url: str
    site_url: str
    pages: dict[str, str] = {}


class SeriesSummary(SeriesAddress):
    title: str
    status: SeriesStatus
    languages: list[str]
    uploads: int
    next_chapter: str


SUMMARIES = TypeAdapter(list[SeriesSummary])


class ControlRefusedError(Exception):
    """The control API refused the request; the message gives the reason."""


class SimulatorControl:
    """Use as an async context manager, or call `aclose` when done."""

    def __init__(self, base_url: str) -> None:
        self._http = httpx.AsyncClient(
            base_url=f"{base_url}/_sim", timeout=TIMEOUT, verify=NO_CERTIFICATES, trust_env=False
        )
        self.deviantart = DeviantArtClient(self._call)
        self.discord = DiscordClient(self._call)
        self.feeds = FeedsClient(self._call)
        self.llm = LlmClient(self._call)
        self.firecrawl = FirecrawlClient(self._call)
        self.press = PressClient(self._call)

    async def __aenter__(self) -> "SimulatorControl":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def is_healthy(self) -> bool:
        """Whether the simulator answers; False if nothing listens."""
        try:
            return (await self._http.get("/health")).is_success
        except httpx.TransportError:
            return False

    async def reset(self, world: WorldName = "empty") -> None:
        await self._call("POST", "/reset", {"world": world})

    async def series(self) -> list[SeriesSummary]:
        return SUMMARIES.validate_json(await self._call("GET", "/series"))

    async def add_series(self, spec: SeriesSpec) -> SeriesAddress:
        return SeriesAddress.model_validate_json(await self._call("POST", "/series", _fields(spec)))

    async def remove_series(self, series_id: str) -> None:
        await self._call("DELETE", f"/series/{series_id}")

    async def uploads(self, series_id: str) -> list[Upload]:
        return UPLOADS.validate_json(await self._call("GET", f"/series/{series_id}/chapters"))

    async def release(self, series_id: str, *specs: UploadSpec) -> list[Upload]:
        """Upload chapters; without a spec, the next number."""
        body = [_fields(spec) for spec in specs or (UploadSpec(),)]
        return UPLOADS.validate_json(await self._call("POST", f"/series/{series_id}/chapters", body))

    async def revise(self, series_id: str, upload_id: str, spec: UploadSpec) -> Upload:
        path = f"/series/{series_id}/chapters/{upload_id}"
        return UPLOAD.validate_json(await self._call("PATCH", path, _fields(spec)))

    async def withdraw(self, series_id: str, upload_id: str) -> None:
        await self._call("DELETE", f"/series/{series_id}/chapters/{upload_id}")

    async def add_work(self, spec: WorkSpec) -> Work:
        return Work.model_validate_json(await self._call("POST", "/ao3/works", _fields(spec)))

    async def update_work(self, work_id: int, change: WorkSpec) -> Work:
        """Change the fields that are set, for example to add chapters."""
        return Work.model_validate_json(await self._call("PATCH", f"/ao3/works/{work_id}", _fields(change)))

    async def add_ao3_series(self, spec: Ao3SeriesSpec) -> Ao3Series:
        return Ao3Series.model_validate_json(await self._call("POST", "/ao3/series", _fields(spec)))

    async def add_fault(self, fault: Fault) -> FaultReport:
        return FaultReport.model_validate_json(await self._call("POST", "/faults", _fields(fault)))

    async def faults(self) -> list[FaultReport]:
        return REPORTS.validate_json(await self._call("GET", "/faults"))

    async def clear_faults(self) -> None:
        await self._call("DELETE", "/faults")

    async def release_held(self, fault_id: int | None = None, *, drop: bool = False) -> int:
        """Let held requests go on, or with `drop` end them. Returns their number."""
        answer = await self._call("POST", "/faults/release", {"id": fault_id, "drop": drop})
        return int(orjson.loads(answer)["released"])

    async def wait_until_held(self, fault_id: int, seconds: float = 30.0) -> None:
        """Return as soon as the fault holds a request; raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while not any(report.id == fault_id and report.held for report in await self.faults()):  # noqa: ASYNC110
                await asyncio.sleep(HELD_CHECK_SECONDS)

    async def set_rate_limit(self, limit: RateLimit) -> None:
        await self._call("POST", "/rate_limit", _fields(limit))

    async def requests(self, path: str = "/", since: float = 0.0) -> list[LoggedRequest]:
        answer = await self._call("GET", "/requests", params={"path": path, "since": str(since)})
        return REQUESTS.validate_json(answer)

    async def clear_requests(self) -> None:
        await self._call("DELETE", "/requests")

    async def sink(self, name: str | None = None) -> list[SinkMessage]:
        return MESSAGES.validate_json(await self._call("GET", "/sink" if name is None else f"/sink/{name}"))

    async def clear_sink(self) -> None:
        await self._call("DELETE", "/sink")

    async def _call(
        self, method: str, path: str, body: Any = None, params: dict[str, str] | None = None
    ) -> bytes:
        response = await self._http.request(method, path, json=body, params=params)
        if response.is_error:
            raise ControlRefusedError(f"{method} {path}: {response.status_code} {response.text}")
        return response.content


def _fields(spec: BaseModel) -> dict[str, Any]:
    # An unset field must not become null: `chapter: null` is a oneshot, no `chapter` is the next number.
    return spec.model_dump(mode="json", exclude_unset=True)
