"""The gate's rows under concurrency."""

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.gate import GatePolicy
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.operations.gate import Gates, count_job, pause, resume

POLICY = GatePolicy(floor=0.05)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


async def test_x4_concurrent_callers_are_spaced_by_the_floor(engine: AsyncEngine) -> None:
    one, other = Gates(engine), Gates(engine)
    began = time.monotonic()

    async def instant(gates: Gates) -> float:
        slot = await gates.reserve("site", POLICY, patience=60)
        assert slot.granted
        return time.monotonic() - began + slot.seconds

    instants = sorted(await asyncio.gather(*(instant(g) for g in [one, other] * 20)))
    gaps = [b - a for a, b in pairwise(instants)]
    # The instants themselves are exact in the database; what is added here is the time of the answer.
    assert instants[-1] - instants[0] >= 39 * POLICY.floor - 0.5
    assert min(gaps) > 0


async def test_x2_who_would_wait_too_long_is_sent_away_with_a_time_of_their_own(engine: AsyncEngine) -> None:
    gates, slow = Gates(engine), GatePolicy(floor=10)
    assert (await gates.reserve("site", slow, patience=1)).granted
    waits = [await gates.reserve("site", slow, patience=1) for _ in range(3)]
    assert not any(slot.granted for slot in waits)
    assert [round(slot.seconds, -1) for slot in waits] == [10, 20, 30]


async def test_x4_failures_widen_success_eases_and_retry_after_blocks(engine: AsyncEngine) -> None:
    gates, policy = Gates(engine), GatePolicy(floor=0.1)
    await gates.reserve("site", policy, patience=60)
    assert await gates.failed("site", policy) == pytest.approx(0.2)
    assert await gates.failed("site", policy) == pytest.approx(0.4)
    assert (await gates.reserve("site", policy, patience=60)).strained
    await gates.succeeded("site", policy)
    await gates.failed("site", policy, not_before=30, reason="the site said 30 s")
    slot = await gates.reserve("site", policy, patience=5)
    assert not slot.granted
    assert 29 < slot.seconds < 40
    assert slot.reason == "the site said 30 s"


async def test_gates_do_not_hold_each_other_up(engine: AsyncEngine) -> None:
    gates = Gates(engine)
    await gates.reserve("slow", GatePolicy(floor=100), patience=0)
    assert (await gates.reserve("other", POLICY, patience=0)).seconds == 0


LEASED = GatePolicy(floor=20, lease=40, think=(1.0, 1.0))


async def test_f3_only_one_is_on_its_way_and_the_distance_begins_at_its_return(engine: AsyncEngine) -> None:
    gates = Gates(engine)
    first = await gates.reserve("ao3", LEASED, patience=5)
    assert first.granted
    # On its way, however long that takes; or dead: then the lease runs out, and only then the distance.
    waits = [await gates.reserve("ao3", LEASED, patience=5) for _ in range(2)]
    assert [(slot.granted, round(slot.seconds)) for slot in waits] == [(False, 61), (False, 61)]
    await gates.returned("ao3", LEASED, first.turn)
    assert round((await gates.reserve("ao3", LEASED, patience=5)).seconds) == 21


async def test_f3_who_was_given_up_for_lost_cannot_let_others_in_early(engine: AsyncEngine) -> None:
    gates, brief = Gates(engine), GatePolicy(floor=0.05, lease=0.05)
    lost = await gates.reserve("ao3", brief, patience=5)
    after = await gates.reserve("ao3", LEASED, patience=5)
    assert after.granted
    await gates.returned("ao3", brief, lost.turn)
    assert (await gates.reserve("ao3", LEASED, patience=5)).seconds > 50


async def test_f3_failures_in_a_row_cool_down_and_jobs_add_up_to_a_pause(engine: AsyncEngine) -> None:
    gates, policy = Gates(engine), GatePolicy(floor=0.01, failures=3, open_seconds=600)
    await gates.reserve("ao3", policy, patience=5)
    waits = [await gates.failed("ao3", policy) for _ in range(3)]
    assert [round(wait) for wait in waits] == [0, 0, 600]
    blocked = await gates.blocked("ao3")
    assert blocked is not None
    assert blocked.reason == "cooling down after 3 failures in a row (no good answer)"

    await gates.reserve("other", policy, patience=5)
    paused = []
    for _ in range(5):
        async with engine.begin() as connection:
            await count_job(connection, "other", jobs=2, pause=90)
        paused.append(await gates.blocked("other") is not None)
    assert paused == [False, True, True, True, True]


class Watch:
    def __init__(self) -> None:
        self.seen: list[tuple[str, object, object]] = []

    def waited_at_gate(self, gate: str, seconds: float, how: str) -> None:
        self.seen.append((gate, round(seconds), how))

    def failed_at_gate(self, gate: str, *, refused: bool) -> None:
        self.seen.append((gate, "failed", refused))


async def test_o1_waits_are_told_whether_slept_or_returned(engine: AsyncEngine) -> None:
    watch, policy = Watch(), GatePolicy(floor=10)
    gates = Gates(engine, watch)
    for patience in (1, 30, 1):
        await gates.reserve("site", policy, patience=patience)
    await gates.failed("site", policy, refused=True)
    assert watch.seen == [
        ("site", 0, "slept"),
        ("site", 10, "slept"),
        ("site", 20, "returned"),
        ("site", "failed", True),
    ]


@pytest.mark.parametrize("policy", [POLICY, GatePolicy(floor=0.05, lease=5)], ids=["many", "one at a time"])
async def test_a_paused_site_lets_nobody_through_until_it_is_resumed(
    engine: AsyncEngine, policy: GatePolicy
) -> None:
    gates = Gates(engine)
    async with transaction(engine) as connection:
        await pause(connection, "site", "paused: moving house", floor=policy.floor)
    refused = await gates.reserve("site", policy, patience=3600)
    assert (refused.granted, refused.reason) == (False, "paused: moving house")
    assert refused.seconds == pytest.approx(300, abs=30)
    blocked = await gates.blocked("site")
    assert blocked is not None
    assert blocked.reason == "paused: moving house"
    async with transaction(engine) as connection:
        await connection.execute(text("update gate set paused_at = now() - interval '20 minutes'"))
    later = await gates.reserve("site", policy, patience=3600)
    assert later.seconds == pytest.approx(1200, abs=60), "the longer it lasts, the less often it is looked"
    assert later.by_hand
    async with transaction(engine) as connection:
        assert await resume(connection, "site") is not None
        assert await resume(connection, "site") is None
    assert (await gates.reserve("site", policy, patience=0)).granted
    assert await gates.blocked("site") is None


async def test_pausing_a_family_pauses_each_of_its_gates(engine: AsyncEngine) -> None:
    gates = Gates(engine)
    assert (await gates.reserve("deviantart:abc", POLICY, patience=5)).granted
    async with transaction(engine) as connection:
        await pause(connection, "deviantart", "paused", floor=0)
    assert not (await gates.reserve("deviantart:abc", POLICY, patience=5)).granted
    assert (await gates.reserve("deviantarts:abc", POLICY, patience=5)).granted
    async with transaction(engine) as connection:
        assert await resume(connection, "deviantart") is not None
    assert (await gates.reserve("deviantart:abc", POLICY, patience=5)).granted
