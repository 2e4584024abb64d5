"""Arithmetic of the gate: how far apart the requests to one site or account are kept."""

from dataclasses import dataclass

EASE = 0.9
BACK_OFF = 2.0


@dataclass(frozen=True)
class GatePolicy:
    """`floor` is the shortest distance between two requests, `ceiling` what failures may stretch it to."""

    floor: float
    ceiling: float = 300.0
    # A first failure must be felt even where the floor is zero or tiny.
    first_step: float = 1.0


def after_success(delay: float, policy: GatePolicy) -> float:
    return max(policy.floor, delay * EASE)


def after_failure(delay: float, policy: GatePolicy) -> float:
    return min(policy.ceiling, max(delay * BACK_OFF, policy.first_step, policy.floor))
