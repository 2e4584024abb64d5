"""Workers of an experiment with fics: each with a name of its own, by which the archive's log knows it."""

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

from simulator.request_log import LoggedRequest
from tests.starter.forked_workers import ForkedWorker, ForkedWorkers
from tests.starter.services import Site

# What a worker was told so shortly before its death may not have reached the books.
_NOT_YET_KEPT_SECONDS = 1.5


@dataclass
class Member:
    name: str
    process: ForkedWorker
    killed_at: float | None = None


class Crew:
    def __init__(self, site: Site, workers: ForkedWorkers, cleanup: AsyncExitStack) -> None:
        self._site = site
        self._workers = workers
        self._cleanup = cleanup
        self._members: list[Member] = []

    @property
    def alive(self) -> list[Member]:
        return [member for member in self._members if member.killed_at is None]

    @property
    def kills(self) -> int:
        return len(self._members) - len(self.alive)

    async def hire(self) -> Member:
        name = f"Fascicle-worker-{len(self._members)}"
        env = self._site.env | {"FASCICLE_USER_AGENT": name}
        if self._members:  # the first one's pages are looked at
            env["FASCICLE_OPS_PORT"] = "0"
        process = self._workers.start(self._site.folder, env)
        member = Member(name, await self._cleanup.enter_async_context(process))
        self._members.append(member)
        return member

    def kill(self, member: Member) -> None:
        member.process.kill()
        member.killed_at = time.monotonic()

    def in_flight(self) -> Member | None:
        """Who waits for the archive's answer right now."""
        asking = {_name(entry) for entry in self.requests() if entry.seconds is None}
        return next((member for member in self.alive if member.name in asking), None)

    def requests(self) -> list[LoggedRequest]:
        return self._site.harness.simulator.requests.matching("/ao3/")

    def was_lost(self, request: LoggedRequest) -> bool:
        """Its worker was killed before the answer could be kept."""
        member = next(member for member in self._members if member.name == _name(request))
        if member.killed_at is None:
            return False
        end = request.monotonic + (request.seconds if request.seconds is not None else 0.0)
        return member.killed_at < end + _NOT_YET_KEPT_SECONDS


def _name(request: LoggedRequest) -> str:
    return request.headers["user-agent"]
