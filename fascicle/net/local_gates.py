"""Gates in memory, for a single command that runs without a database."""

import random
import time
from dataclasses import dataclass

from fascicle.domain import gate as rules
from fascicle.domain.gate import GatePolicy, Slot


@dataclass
class _Gate:
    delay: float
    next_at: float = 0.0
    blocked_until: float = 0.0
    reason: str | None = None
    refusals: int = 0
    failures: int = 0


def _distance(gate: _Gate, policy: GatePolicy) -> float:
    stretch = policy.stretch(random.random())  # noqa: S311
    return max(gate.delay, policy.floor) * stretch + policy.thinking(random.random())  # noqa: S311


class LocalGates:
    """The rules of `fascicle.storage.operations.gate.Gates`, for one process and its lifetime."""

    def __init__(self) -> None:
        self._gates: dict[str, _Gate] = {}

    async def reserve(self, name: str, policy: GatePolicy, *, patience: float) -> Slot:
        gate = self._gates.setdefault(name, _Gate(policy.floor))
        now = time.monotonic()
        free_at = max(now, gate.next_at, gate.blocked_until)
        if free_at - now > patience:
            return Slot(False, free_at - now, gate.reason if gate.blocked_until > now else None)
        gate.next_at = free_at + _distance(gate, policy) + policy.lease
        return Slot(True, free_at - now, strained=gate.delay > policy.floor)

    async def returned(self, name: str, policy: GatePolicy, turn: int) -> None:
        gate = self._gates[name]
        gate.next_at = time.monotonic() + _distance(gate, policy)

    async def blocked(self, name: str) -> Slot | None:
        gate = self._gates.get(name)
        seconds = gate.blocked_until - time.monotonic() if gate else 0.0
        return Slot(False, seconds, gate.reason) if gate and seconds > 0 else None

    async def succeeded(self, name: str, policy: GatePolicy) -> None:
        gate = self._gates[name]
        gate.delay = max(policy.floor, gate.delay * rules.EASE)
        gate.refusals = gate.failures = 0

    async def failed(
        self,
        name: str,
        policy: GatePolicy,
        *,
        refused: bool = False,
        not_before: float | None = None,
        reason: str | None = None,
    ) -> float:
        gate = self._gates[name]
        gate.delay = rules.after_failure(gate.delay, policy)
        gate.refusals += refused
        gate.failures += 1
        wait = not_before or 0.0
        if (refused and rules.opens(gate.refusals, policy)) or rules.cools_down(gate.failures, policy):
            wait = max(wait, policy.open_seconds)
        now = time.monotonic()
        gate.next_at = max(gate.next_at, now + gate.delay)
        gate.blocked_until = max(gate.blocked_until, now + wait)
        gate.reason = reason or gate.reason
        return max(gate.delay, wait)
