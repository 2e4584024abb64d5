"""The costs of a piece of feed work: CPU by process, Temporal's writes, transactions, requests, workflows."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import psutil

from bench.cpu import DRIVER, CpuMeter, CpuUse
from bench.stack import BenchStack

# The processes whose CPU counts as the work's cost; the simulator and the bench do not count.
OURS = ("worker", "reader", "temporal", "postgres", "command")
_TRANSACTIONS = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"


@dataclass(frozen=True)
class FeedCosts:
    """The costs of `count` feeds or items together."""

    count: int
    seconds: float
    cpu: CpuUse
    cpu_by_process: Mapping[str, float]
    temporal_bytes_written: int
    transactions: int
    requests: int
    workflows: int

    @property
    def cpu_seconds(self) -> float:
        return sum(self.cpu_by_process.values())

    @property
    def milliseconds_each(self) -> float:
        return 1000 * self.cpu_seconds / self.count


class CostMeter:
    """Counts from `begin` to `read`, both of which are transactions themselves."""

    def __init__(self, stack: BenchStack) -> None:
        self._stack = stack

    async def begin(self) -> None:
        self._workflows = await self._count_workflows()
        self._transactions = await self._count_transactions()
        self._written = self._temporal_bytes()
        self._began_at, self._began = time.time(), time.monotonic()
        self._readers = self._reader_seconds()
        self._cpu = CpuMeter(self._stack.supervisor.pids)

    async def read(self, count: int, *, command_seconds: float = 0.0, own_transactions: int = 0) -> FeedCosts:
        cpu, readers = self._cpu.read(), self._reader_seconds() - self._readers
        seconds, written = time.monotonic() - self._began, self._temporal_bytes() - self._written
        by_process = {name: used for name, used in cpu.processes.items() if name in OURS}
        by_process["worker"] -= readers
        by_process |= {"reader": readers, "command": command_seconds}
        return FeedCosts(
            count=count,
            seconds=seconds,
            cpu=cpu,
            cpu_by_process=by_process,
            temporal_bytes_written=written,
            transactions=await self._count_transactions() - self._transactions - own_transactions,
            requests=len(await self._stack.simulator.requests("/feeds/*", since=self._began_at)),
            workflows=await self._count_workflows() - self._workflows,
        )

    def _temporal_bytes(self) -> int:
        return int(psutil.Process(self._stack.supervisor.pids["temporal"]).io_counters().write_bytes)

    def _reader_seconds(self) -> float:
        """CPU seconds of the worker's children, which read documents; ended ones count as the worker's."""
        worker = psutil.Process(self._stack.supervisor.pids["worker"])
        times = [child.cpu_times() for child in worker.children(recursive=True)]
        return float(sum(one.user + one.system for one in times))

    async def _count_transactions(self) -> int:
        # Backends report within a second; after that the number is stable.
        return int(await self._stack.value(_TRANSACTIONS))

    async def _count_workflows(self) -> int:
        return (await self._stack.client.count_workflows()).count


def driver_seconds(costs: FeedCosts) -> float:
    return costs.cpu.processes.get(DRIVER, 0.0)
