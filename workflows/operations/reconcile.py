"""ReconcileWorkflow: started by a Schedule; continues work that no workflow handles any more (X1)."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from activities.operations.reconcile import NeglectedFeed, Orphans, ReconcileActivities, ReconcileInput
    from activities.series.sweep import SweepActivities, SweepInput
    from fascicle.domain.names import CODE, FEED_SITE, source_workflow_id
    from fascicle.jobs.notifications import NotifyInput, mail_job
    from fascicle.jobs.series import SourceInput, source_job, sweep_job
    from workflows import policies
    from workflows.children import start_child, tell_followers

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
            await start_child(mail_job(), again=True)
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
        """Start the feed's workflow unless it is running (it usually is), and resume a feed that rests."""
        source = SourceInput(
            source_id=feed.id,
            site=FEED_SITE,
            series_id="",
            title=feed.title,
            cadence=feed.cadence,
            circuit=feed.circuit,
            failure_count=feed.failure_count,
            due_at=feed.next_check_at,
            attributes_given=True,
            code=CODE,
        )
        await start_child(source_job(source), again=True)
        if feed.rests:
            await workflow.get_external_workflow_handle(source_workflow_id(feed.id)).signal("resume")

    async def _do_without_sweep(self, site: str) -> None:
        """Let the sources go back to their own intervals, and start the sweep again if it has ended."""
        await workflow.execute_activity_method(
            SweepActivities.release_sources,
            SweepInput(site=site, now=workflow.now()),
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.BOOKS,
            summary=f"{site}: the sources keep their own time again",
        )
        await start_child(sweep_job(site), again=True)
