"""How much a worker does at once: slots, pollers, and which queues it serves."""

from functools import partial

import pytest
from temporalio.worker import FixedSizeSlotSupplier, ResourceBasedSlotSupplier, Worker

from fascicle.domain.names import DELIVER_QUEUE, FETCH_QUEUE, MAIN_QUEUE, PUBLISH_QUEUE
from fascicle.settings.settings import Settings
from fascicle.temporal.tuning import worker_options
from tests.harness import Harness, eventually
from worker import WORKFLOWS, _queues


def slots(settings: Settings, queue: str) -> object:
    return worker_options(settings, queue)["tuner"]._get_activity_task_slot_supplier()


def test_each_queue_has_as_many_slots_as_its_setting_says() -> None:
    settings = Settings(max_concurrent_fetches=7, publish_concurrency=2, max_concurrent_activities=30)
    numbers = {MAIN_QUEUE: 30, FETCH_QUEUE: 7, DELIVER_QUEUE: 30, PUBLISH_QUEUE: 2}
    assert {queue: slots(settings, queue) for queue in numbers} == {
        queue: FixedSizeSlotSupplier(number) for queue, number in numbers.items()
    }


def test_where_the_machine_decides_the_settings_are_upper_bounds_and_publishing_keeps_its_number() -> None:
    settings = Settings(worker_slots="resources", max_concurrent_fetches=7)
    fetches = slots(settings, FETCH_QUEUE)
    assert isinstance(fetches, ResourceBasedSlotSupplier)
    assert fetches.slot_config.maximum_slots == 7
    assert slots(settings, PUBLISH_QUEUE) == FixedSizeSlotSupplier(5)


@pytest.mark.parametrize(("queue", "most"), [(MAIN_QUEUE, 20), (FETCH_QUEUE, 20), (PUBLISH_QUEUE, 5)])
def test_nobody_polls_for_more_than_there_are_slots(queue: str, most: int) -> None:
    assert worker_options(Settings(), queue)["activity_task_poller_behavior"].maximum == most


def test_a_queue_that_is_named_twice_is_served_once() -> None:
    assert _queues("deliver, fetch,deliver") == [DELIVER_QUEUE, FETCH_QUEUE]


async def test_roles_have_only_what_their_queue_needs_and_get_everything_done_together(
    harness: Harness,
) -> None:
    async with harness.workers(MAIN_QUEUE) as (main,), harness.workers(FETCH_QUEUE) as (fetch,):
        assert fetch.config()["workflows"] == []
        assert main.config()["workflows"] == list(WORKFLOWS)
        assert {"poll_source", "fetch_fic"} <= activities(fetch)
        assert not activities(fetch) & activities(main)
        await harness.add_and_sync(harness.series())


def activities(worker: Worker) -> set[str]:
    return {activity.__name__ for activity in worker.config()["activities"]}


@pytest.mark.parametrize(
    "overrides", [{"worker_slots": "resources", "max_pollers": 2, "max_cached_workflows": 2}], ids=["small"]
)
async def test_the_smallest_worker_gets_everything_done(stack: Harness) -> None:
    sources = [await stack.add(stack.series(f"Lanterns {number}")) for number in range(4)]
    for source in sources:
        await eventually(partial(stack.source_value, source["id"], "first_synced_at"))
