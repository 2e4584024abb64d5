"""ReconcileWorkflow: started by a Schedule; takes up what nobody looks after any more (X1)."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from activities.reconcile import NeglectedFeed, Orphans, ReconcileActivities, ReconcileInput
    from activities.sweep import SweepActivities, SweepInput
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import CODE, FEED_SITE, source_workflow_id, sweep_workflow_id
    from workflows import policies
    from workflows.children import NotifyInput, start_once, tell_followers
    from workflows.mail import start_sending_mail
    from workflows.source_state import SourceInput
    from workflows.sweep import SweepWorkflowInput

_PRIORITY = Priority(priority_key=2)


@workflow.defn
class ReconcileWorkflow:
    @workflow.run
    async def run(self) -> Orphans:
        orphans = await self._find_orphans()
        for chapter in orphans.chapters:
            notify = NotifyInput(
                series_id=chapter.series_id,
                chapter_id=chapter.chapter_id,
                label=f"chapter {chapter.chapter_id}",
            )
            await tell_followers(notify, _PRIORITY)
        for site in orphans.stale_sweeps:
            await self._do_without_sweep(site)
        for feed in orphans.feeds:
            await self._look_after(feed)
        if orphans.mail_waits:
            await start_sending_mail()
        return orphans

    async def _find_orphans(self) -> Orphans:
        return await workflow.execute_activity_method(
            ReconcileActivities.find_orphans,
            ReconcileInput(now=workflow.now()),
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.POLL,
            summary="what nobody looks after",
        )

    async def _look_after(self, feed: NeglectedFeed) -> None:
        """Usually its workflow runs and only waits; then nothing happens."""
        await start_once(
            "SourceWorkflow",
            SourceInput(
                source_id=feed.id,
                site=FEED_SITE,
                series_id="",
                title=feed.title,
                cadence=feed.cadence,
                circuit=feed.circuit,
                failure_count=feed.failure_count,
                due_at=feed.next_check_at,
                code=CODE,
            ),
            workflow_id=source_workflow_id(feed.id),
            summary=for_web_ui(f"{feed.title[:150]} on {FEED_SITE}"),
            priority=Priority(fairness_key=FEED_SITE),
            again=True,
            attributes={"Site": FEED_SITE, "SourceId": feed.id},
        )
        if feed.rests:
            await workflow.get_external_workflow_handle(source_workflow_id(feed.id)).signal("resume")

    async def _do_without_sweep(self, site: str) -> None:
        """Its sources keep their own time; the sweep, if it is gone, is started again."""
        await workflow.execute_activity_method(
            SweepActivities.release_sources,
            SweepInput(site=site, now=workflow.now()),
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.BOOKS,
            summary=f"{site}: the sources keep their own time again",
        )
        await start_once(
            "SweepWorkflow",
            SweepWorkflowInput(site=site),
            workflow_id=sweep_workflow_id(site),
            summary=f"what is new on {site}",
            priority=Priority(priority_key=1, fairness_key=site),
            again=True,
            attributes={"Site": site},
        )
