"""A worker killed at each moment of a fic's life. All on one stack: two kills strike five fics, each of which
is held where it is to be struck."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise

from fascicle.domain.names import LOOK_AGAIN_SIGNAL, fic_workflow_id
from simulator.ao3.records import WorkSpec
from simulator.faults import ArmedFault, Fault
from tests.chaos.fic_books import nothing_is_open
from tests.chaos.fic_crew import Crew
from tests.fics import ARCHIVE, desk, reader
from tests.harness import eventually
from tests.starter.forked_workers import ForkedWorkers
from tests.starter.services import Site

RECOVERY_SECONDS = 90.0
# The two messages that are held take all the places there are; a third waits for one of them.
DELIVERIES_AT_ONCE = 2

_DELIVERY = """
select d.state, exists (select 1 from dead_letter l where l.kind = 'deliver' and l.job_key = d.id::text)
from delivery d where d.job_key = :key"""


@dataclass(frozen=True)
class Fate:
    """What became of a fic: its state, how often it was asked for, how often its reader was told of it."""

    state: str
    requests: int
    messages: int
    deliveries: list[tuple[str, bool]]
    """Their states, and whether a person is asked about them."""


@dataclass(frozen=True)
class MomentsReport:
    fates: dict[str, Fate]
    shortest_distance: float


class MomentsExperiment:
    """Each moment has a fic, and the fic a reader of the same name."""

    def __init__(self, site: Site, workers: ForkedWorkers, cleanup: AsyncExitStack) -> None:
        self._site = site
        self._harness = site.harness
        self._crew = Crew(site, workers, cleanup)
        self._works: dict[str, int] = {}

    async def run(self) -> MomentsReport:
        worker = await self._crew.hire()
        await self._site.until_ready()
        await self._ask_and_hold("message-left", "/sink/message-left", "after")
        await self._ask_and_hold("message-leaving", "/sink/message-leaving", "before")
        await self._publish("untold")
        await self._submit("untold")
        await eventually(lambda: self._is_finished("untold"), what="a fic that is read but not told")
        await self._ask_and_hold("asking", "/ao3/works/{id}", "before")
        self._crew.kill(worker)
        worker = await self._crew.hire()
        await self._ask_and_hold("answered", "/ao3/works/{id}", "after", first=True)
        self._crew.kill(worker)
        await self._crew.hire()
        await eventually(
            lambda: nothing_is_open(self._harness), within=RECOVERY_SECONDS, what="every fic read and told"
        )
        return await self._judge()

    async def _publish(self, name: str) -> int:
        await reader(self._harness, name)
        self._works[name] = self._harness.simulator.ao3.add_work(WorkSpec(title=name)).id
        return self._works[name]

    async def _submit(self, name: str) -> None:
        await desk(self._harness).add(f"{ARCHIVE}/works/{self._works[name]}", name, wait_seconds=0)

    async def _ask_and_hold(self, name: str, path: str, where: str, *, first: bool = False) -> None:
        work = await self._publish(name)
        held = self._harness.simulator.faults.add(
            Fault.model_validate({"kind": "hold", "hold": where, "path": path.format(id=work), "count": 1})
        )
        await self._submit(name)
        if first:
            await self._put_first(name)
        await eventually(lambda: _is_held(held), what=f"{name} to be held")

    async def _put_first(self, name: str) -> None:
        """Before the one whose worker died, which is still thought to be under way."""
        await self._harness.execute(
            "update fic_job set queued_at = queued_at - interval '1 hour' where key = :key",
            key=self._key(name),
        )
        workflow = self._harness.client.get_workflow_handle(fic_workflow_id(self._key(name)))
        await workflow.signal(LOOK_AGAIN_SIGNAL)

    async def _is_finished(self, name: str) -> bool:
        state = await self._harness.value("select state from fic_job where key = :key", key=self._key(name))
        return bool(state == "done")

    async def _judge(self) -> MomentsReport:
        fates = {name: await self._fate(name) for name in self._works}
        times = [entry.monotonic for entry in self._crew.requests()]
        return MomentsReport(fates, min(later - earlier for earlier, later in pairwise(times)))

    async def _fate(self, name: str) -> Fate:
        key = self._key(name)
        deliveries = await self._harness.rows(_DELIVERY, key=key)
        asked = self._harness.simulator.requests.matching(f"/ao3/works/{self._works[name]}")
        return Fate(
            state=await self._harness.value("select state from fic_job where key = :key", key=key),
            requests=len(asked),
            messages=len(self._harness.simulator.sink.messages(name)),
            deliveries=[(row["state"], row["exists"]) for row in deliveries],
        )

    def _key(self, name: str) -> str:
        return f"ao3-work-{self._works[name]}"


async def _is_held(fault: ArmedFault) -> bool:
    return fault.report().held > 0
