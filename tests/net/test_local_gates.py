"""Gates in memory keep the same distance as those in the database."""

import pytest

from fascicle.domain.gate import GatePolicy
from fascicle.net.local_gates import LocalGates

POLICY = GatePolicy(floor=10.0, ceiling=40.0)


async def test_requests_are_kept_apart_and_long_waits_handed_back() -> None:
    gates = LocalGates()
    first = await gates.reserve("a", POLICY, patience=60)
    second = await gates.reserve("a", POLICY, patience=60)
    refused = await gates.reserve("a", POLICY, patience=5)
    other = await gates.reserve("b", POLICY, patience=5)
    assert (first.granted, first.seconds) == (True, 0)
    assert second.granted
    assert second.seconds == pytest.approx(10, abs=1)
    assert not refused.granted
    assert refused.seconds == pytest.approx(20, abs=1)
    assert (other.granted, other.seconds) == (True, 0)


async def test_failures_widen_the_gate_and_successes_ease_it() -> None:
    gates = LocalGates()
    await gates.reserve("a", POLICY, patience=0)
    assert [await gates.failed("a", POLICY) for _ in range(3)] == [20, 40, 40]
    strained = await gates.reserve("a", POLICY, patience=60)
    assert strained.strained
    for _ in range(20):
        await gates.succeeded("a", POLICY)
    assert not (await gates.reserve("a", POLICY, patience=600)).strained


async def test_a_site_that_says_when_is_left_alone_until_then() -> None:
    gates = LocalGates()
    assert await gates.blocked("a") is None
    await gates.reserve("a", POLICY, patience=0)
    await gates.failed("a", POLICY, not_before=300, reason="429")
    blocked = await gates.blocked("a")
    assert blocked is not None
    assert blocked.seconds == pytest.approx(300, abs=1)
    assert blocked.reason == "429"
    refused = await gates.reserve("a", POLICY, patience=60)
    assert (refused.granted, refused.reason) == (False, "429")
