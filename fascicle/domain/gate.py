"""Arithmetic of the gate: how far apart the requests to one site or account are kept."""

from dataclasses import dataclass

EASE = 0.9
BACK_OFF = 2.0


@dataclass(frozen=True)
class GatePolicy:
    """`floor` is the shortest distance between two requests, `ceiling` what failures may stretch it to."""

    floor: float
    ceiling: float = 300.0


def after_failure(delay: float, policy: GatePolicy) -> float:
    return max(policy.floor, min(policy.ceiling, delay * BACK_OFF))
