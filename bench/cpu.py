"""CPU seconds of each process of the stack, of this process, and of all others on the machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil

DRIVER = "bench"


@dataclass(frozen=True)
class CpuUse:
    processes: dict[str, float]
    others: float
    """CPU seconds of processes that are not ours: a large number makes the measurement worthless."""
    withheld: float
    """CPU seconds that the host of a virtual machine took."""

    @property
    def total(self) -> float:
        return sum(self.processes.values())


class CpuMeter:
    """Counts from its creation."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._processes = self._read_processes()
        self._machine = psutil.cpu_times()

    def read(self) -> CpuUse:
        now = self._read_processes()
        used = {name: seconds - self._processes[name] for name, seconds in now.items()}
        machine = psutil.cpu_times()
        busy = _busy(machine) - _busy(self._machine)
        withheld = getattr(machine, "steal", 0.0) - getattr(self._machine, "steal", 0.0)
        return CpuUse(used, max(0.0, busy - sum(used.values())), withheld)

    def _read_processes(self) -> dict[str, float]:
        stack = {name: _of_tree(psutil.Process(pid)) for name, pid in self._pids.items()}
        return {**stack, DRIVER: _own(psutil.Process())}


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _of_tree(process: Any) -> float:
    """A process with its children: living ones, and ended ones that were waited for."""
    times = process.cpu_times()
    total = float(times.user + times.system + times.children_user + times.children_system)
    for child in process.children(recursive=True):
        try:
            total += _own(child)
        except psutil.NoSuchProcess:
            continue
    return total


def _own(process: Any) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _busy(times: Any) -> float:
    named = ("user", "nice", "system", "irq", "softirq")
    return float(sum(getattr(times, name, 0.0) for name in named))
