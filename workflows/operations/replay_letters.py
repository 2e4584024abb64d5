"""ReplayLettersWorkflow: retries the jobs of dead letters, one letter at a time (C11, C15)."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import ValidationError

    from activities.operations.dead_letter import (
        DeadLetterActivities,
        Letter,
        LetterPage,
        LettersInput,
        ReopenInput,
    )
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import source_workflow_id
    from fascicle.jobs.feeds import EnrichItemInput, IngestItemInput, enrich_job, item_job
    from fascicle.jobs.notifications import NotifyInput
    from fascicle.jobs.operations import ReplayLettersInput, ReplayLettersResult
    from fascicle.jobs.series import IngestInput, ingest_job
    from workflows import policies
    from workflows.children import start_child, tell_followers

_PRIORITY = Priority(priority_key=1)


@workflow.defn
class ReplayLettersWorkflow:
    @workflow.init
    def __init__(self, replay: ReplayLettersInput) -> None:
        self._wanted = replay
        self._result = replay.state or ReplayLettersResult()

    @workflow.run
    async def run(self, replay: ReplayLettersInput) -> ReplayLettersResult:
        while page := (await self._next_page()).letters:
            for letter in page:
                await self._replay_or_note(letter)
                self._result.after = letter.id
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(replay.model_copy(update={"state": self._result}))
        return self._result

    @workflow.query
    def progress(self) -> ReplayLettersResult:
        return self._result

    async def _next_page(self) -> LetterPage:
        wanted = self._wanted
        return await workflow.execute_activity_method(
            DeadLetterActivities.list_letters,
            LettersInput(
                letters=wanted.letters, code=wanted.code, kind=wanted.kind, after=self._result.after
            ),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary="the next letters",
        )

    async def _replay_or_note(self, letter: Letter) -> None:
        # Settle the letter first: a job that fails again writes a new letter.
        await self._keep_books(DeadLetterActivities.reopen, letter)
        try:
            await self._replay(letter)
        except ApplicationError:
            why = "it has no workflow: `fascicle setup` starts it, unless its source was removed"
        except (ValidationError, KeyError):
            why = "its input cannot be read: it was written by another version"
        else:
            self._result.replayed.append(letter.id)
            return
        self._result.failed[letter.id] = why
        await self._keep_books(DeadLetterActivities.put_back, letter)

    async def _keep_books(
        self, activity: Callable[[DeadLetterActivities, ReopenInput], Awaitable[None]], letter: Letter
    ) -> None:
        await workflow.execute_activity_method(
            activity,
            ReopenInput(letter_id=letter.id, now=workflow.now()),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary=for_web_ui(f"letter {letter.id}: {letter.kind} {letter.job_key}"),
        )

    async def _replay(self, letter: Letter) -> None:
        job = letter.job_input
        if letter.kind == "poll":
            source = workflow.get_external_workflow_handle(source_workflow_id(job["source_id"]))
            await source.signal("poll_now")
        elif letter.kind == "ingest":
            await start_child(ingest_job(IngestInput.model_validate(job), replay=True), again=True)
        elif letter.kind == "item":
            item = IngestItemInput(source_id=job["source_id"], letter_id=letter.id)
            await start_child(item_job(item, job["item_key"]), again=True)
        elif letter.kind == "enrich":
            await start_child(enrich_job(EnrichItemInput.model_validate(job)), again=True)
        elif letter.series_id is not None:
            notify = NotifyInput(
                series_id=letter.series_id,
                chapter_id=job["chapter_id"],
                label=f"chapter {job['chapter_id']}",
            )
            await tell_followers(notify, _PRIORITY)
        # Otherwise it is a digest that `reopen` has put back: the schedule's next run sends it.
