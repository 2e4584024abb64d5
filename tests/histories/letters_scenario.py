"""Letters that are written, and replayed: a chapter that was refused, followers who could not be told."""

from fascicle.domain.names import notify_workflow_id
from tests.harness import Harness, eventually


async def letters_are_written_and_replayed(stack: Harness) -> dict[str, str]:
    series = stack.series(chapters=1)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    await stack.execute("alter table logical_chapter add constraint no_99 check (chapter_key <> '99')")
    await stack.execute("alter table notification add constraint nobody check (chapter_id is null)")
    for chapter in ("2", "3", "99"):
        stack.release(series, chapter=chapter)
    await stack.poll(source)

    async def all_written() -> bool:
        return bool(await stack.value("select count(*) = 3 from dead_letter"))

    await eventually(all_written, what="the letters")
    await stack.execute("alter table logical_chapter drop constraint no_99")
    await stack.execute("alter table notification drop constraint nobody")
    # Left as it is: a replay would be another run under the same id.
    chapter_id = await stack.value("select id from logical_chapter where chapter_key = '3'")
    buried = notify_workflow_id(source["series_id"], chapter_id)
    letters = await stack.rows("select id from dead_letter where workflow_id <> :kept", kept=buried)
    await stack.client.execute_workflow(
        "ReplayLettersWorkflow",
        {"letters": [letter["id"] for letter in letters]},
        id="replay-letters",
        task_queue="fascicle",
    )
    await stack.messages(2)
    await stack.workflow(source).signal("stop")
    return {
        "notify_buried": buried,
        "replay_of_a_chapter_and_a_notice": "replay-letters",
        "ingest_replayed": f"ingest-{source['id']}-99",
    }
