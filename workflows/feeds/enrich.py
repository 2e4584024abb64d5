"""EnrichItemWorkflow: reads the page behind one item that is already in the inboxes (I5).

Nothing waits for it. The item's row says whether there is anything to do.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.feeds.enrich import EnrichActivities, EnrichInput, EnrichResult, GiveUpInput
    from activities.series.source import Wait
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import FETCH_QUEUE
    from fascicle.jobs.feeds import EnrichItemInput, enrich_priority
    from workflows import policies
    from workflows.failures import error_record

# The most refusals by a site, and the most waits in all; then the item is finished without the missing steps.
_MOST_REFUSALS = 5
_MOST_WAITS = 40
_SHORTEST = 0.05


@workflow.defn
class EnrichItemWorkflow:
    @workflow.init
    def __init__(self, item: EnrichItemInput) -> None:
        self._item = item
        self._refusals = 0
        self._waits = 0

    @workflow.run
    async def run(self, item: EnrichItemInput) -> EnrichResult:
        self._show("looks at the page")
        try:
            result = await self._until_done()
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            await self._give_up(error)
            raise ApplicationError(f"{item.label} could not be enriched", non_retryable=True) from error
        self._show(*(result.found or ["nothing new"]), *(f"done without {step}" for step in result.failed))
        return result

    async def _until_done(self) -> EnrichResult:
        while (result := await self._enrich()).wait is not None:
            await self._sleep(result.wait)
        return result

    async def _enrich(self) -> EnrichResult:
        return await workflow.execute_activity_method(
            EnrichActivities.enrich_item,
            EnrichInput(
                item_id=self._item.item_id,
                now=workflow.now(),
                final=self._refusals >= _MOST_REFUSALS or self._waits >= _MOST_WAITS,
            ),
            task_queue=FETCH_QUEUE,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.ENRICH,
            priority=enrich_priority(self._item),
            summary=self._item.label,
        )

    async def _sleep(self, wait: Wait) -> None:
        self._waits += not wait.by_hand
        self._refusals += wait.refused
        self._show(f"waits: {wait.reason}")
        await workflow.sleep(timedelta(seconds=max(_SHORTEST, wait.seconds)), summary=for_web_ui(wait.reason))

    async def _give_up(self, error: ActivityError) -> None:
        record = error_record(error)
        self._show(f"given up: {record.error_code}")
        await workflow.execute_activity_method(
            EnrichActivities.give_up_enriching,
            GiveUpInput(
                item=self._item,
                error=record,
                attempts=policies.ENRICH.maximum_attempts if record.retryable else 1,
                now=workflow.now(),
            ),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary="to the dead letters",
        )

    def _show(self, *lines: str) -> None:
        workflow.set_current_details(
            "\n".join([f"**{self._item.label}**", *(f"- {for_web_ui(line)}" for line in lines)])
        )
