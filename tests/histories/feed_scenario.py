"""The life of a feed: news, a refusal, a replayed run, gone for good; an item that could not be stored."""

from fascicle.domain.feeds.feed import SubscriptionState
from fascicle.domain.names import source_workflow_id
from fascicle.services.feeds.following import leave
from simulator.faults import Fault
from simulator.feeds.records import FeedPatch
from tests.feeds import feed, poll, publish, read, runs, user
from tests.harness import Harness, eventually


async def a_feed_is_followed(stack: Harness) -> dict[str, str]:
    subscribed = await read(stack, "ann", feed(stack))
    source = {"id": subscribed.source_id}
    await poll(stack, subscribed)
    await stack.execute("update source set next_check_at = now() - interval '1 hour'")
    await stack.client.execute_workflow("ReconcileWorkflow", id="reconcile-a-feed", task_queue="fascicle")
    await stack.execute("alter table item add constraint picky check (title <> 'Bad')")
    publish(stack, "blog", "Good", "Bad")
    stack.simulator.faults.add(Fault(path="/feeds/blog", status=429, retry_after=1, count=1))
    await poll(stack, subscribed)
    run = (await runs(stack, subscribed.source_id))[-1]
    await stack.workflow(source).signal("replay", str(run["id"]))
    await eventually(lambda: stack.value("select id from ingestion_run where replay_of is not null"))
    item = str(await stack.value("select workflow_id from dead_letter where kind = 'item'"))
    await stack.execute("alter table item drop constraint picky")
    letter = await stack.value("select id from dead_letter where kind = 'item'")
    await stack.client.execute_workflow(
        "ReplayLettersWorkflow", {"letters": [letter]}, id="replay-item", task_queue="fascicle"
    )
    stack.simulator.feeds.change_feed("blog", FeedPatch(gone=True))
    await poll(stack, subscribed)
    ann = await user(stack, "ann")
    await leave(stack.dependencies, stack.client, ann, subscribed.source_id, SubscriptionState.UNSUBSCRIBED)
    return {
        "feed_life": source_workflow_id(subscribed.source_id),
        "item_replayed": item,
        "replay_of_an_item": "replay-item",
        "reconcile_of_a_feed": "reconcile-a-feed",
    }
