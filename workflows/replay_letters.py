"""ReplayLettersWorkflow: try again what failed for good, letter by letter (C11, C15)."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel, ValidationError

    from activities.chapter import IngestInput
    from activities.dead_letter import DeadLetterActivities, Letter, LetterPage, LettersInput, ReopenInput
    from activities.looking_after import EnrichItemInput
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import ingest_workflow_id, item_workflow_id, source_workflow_id
    from workflows import policies
    from workflows.children import NotifyInput, start_once, tell_followers
    from workflows.enrich import start_enriching
    from workflows.item import IngestItemInput

_PRIORITY = Priority(priority_key=1)


class ReplayLettersInput(BaseModel):
    """Which: by number, or every open one of an error code or a kind; all open ones if nothing is given."""

    letters: list[int] = []
    code: str | None = None
    kind: str | None = None
    state: "ReplayLettersResult | None" = None


class ReplayLettersResult(BaseModel):
    replayed: list[int] = []
    failed: dict[int, str] = {}
    after: int = 0


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
        # Settled first: if the job fails once more, it writes a letter of its own.
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
            await self._ingest(IngestInput.model_validate(job))
        elif letter.kind == "item":
            await start_once(
                "IngestItemWorkflow",
                IngestItemInput(source_id=job["source_id"], letter_id=letter.id),
                workflow_id=item_workflow_id(job["source_id"], job["item_key"]),
                summary=f"replay: letter {letter.id}",
                priority=_PRIORITY,
                again=True,
                attributes={"SourceId": job["source_id"]},
            )
        elif letter.kind == "enrich":
            await start_enriching(EnrichItemInput.model_validate(job))
        elif letter.series_id is not None:
            notify = NotifyInput(
                series_id=letter.series_id,
                chapter_id=job["chapter_id"],
                label=f"chapter {job['chapter_id']}",
            )
            await tell_followers(notify, _PRIORITY)
        # Else it is a digest, put back by now: the schedule's next run sends it.

    async def _ingest(self, ingest: IngestInput) -> None:
        await start_once(
            "IngestChapterWorkflow",
            ingest,
            workflow_id=ingest_workflow_id(ingest.source_id, ingest.chapter.key),
            summary=for_web_ui(f"replay: {ingest.series_title} {ingest.chapter.key}"),
            priority=_PRIORITY,
            again=True,
            attributes={
                "Site": ingest.site,
                "SourceId": ingest.source_id,
                "SeriesId": ingest.series_id,
            },
        )
