"""CPU seconds of each process of the stack, and of this one, which drives it."""

import os
from collections.abc import Mapping

import psutil

DRIVER = "bench"


def cpu_seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """What each process has used so far, children that live and children that ended included."""
    return {name: _tree(psutil.Process(pid)) for name, pid in pids.items()} | {DRIVER: _own(psutil.Process())}


def spent(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {name: seconds - before.get(name, 0.0) for name, seconds in after.items()}


def _tree(process: psutil.Process) -> float:
    ended = process.cpu_times()
    total = _own(process) + ended.children_user + ended.children_system
    for child in process.children(recursive=True):
        try:
            total += _own(child)
        except psutil.NoSuchProcess:
            continue  # ended just now: its time is in the parent's books at the next reading
    return total


def _own(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
