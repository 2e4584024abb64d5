"""SourceWorkflow: the poll loop of one source, for as long as it is followed (C1, C3, C15)."""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import SearchAttributeKey

# The helpers are passed through too; otherwise the sandbox would run their modules again for each workflow.
with workflow.unsafe.imports_passed_through():
    from activities.series.backfill import BackfillProgress, BackfillResult
    from activities.series.source import Wait
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import CODE, WAKE_SIGNAL, WATCHED_SOURCES
    from fascicle.domain.series.cadence import Cadence
    from fascicle.domain.series.source_facts import SourceFacts
    from fascicle.jobs.series import SourceInput
    from workflows.patches import is_patched
    from workflows.series.source_calls import GaveUp, SourceCalls
    from workflows.series.source_children import SourceChildren
    from workflows.series.source_look import SourceLook, count_refusal
    from workflows.series.source_state import SourceStatus, Wishes, details, first_state, shown_at_start

# Temporal refuses to start an ingest that it remembers as done. If the database still lacks the chapter at
# the next poll, the batch stores it.
REFUSED_STARTS_BEFORE_BATCH = 2
# The result of a read that a stop or a pause has interrupted.
NOT_NOW = Wait(seconds=0, reason="interrupted", refused=False)
# Long histories are slow to replay, and after an outage all are replayed at once.
LONGEST_HISTORY = 250


@workflow.defn
class SourceWorkflow:
    @workflow.init
    def __init__(self, source: SourceInput) -> None:
        self._source = source
        self._calls = SourceCalls(source.source_id, is_feed=source.is_feed)
        self._state = source.state or first_state(source)
        self._children = SourceChildren(source, self._state, self._calls)
        self._wishes = Wishes()
        self._look = SourceLook(
            source.code, self._state, self._wishes, self._calls, self._children, self._show
        )
        self._shown = shown_at_start(source)

    @workflow.run
    async def run(self, source: SourceInput) -> SourceStatus:
        self._show()
        while not self._wishes.stop:
            await self._wait_until_something_is_due()
            await self._apply_wishes()
            if self._is_due():
                await self._poll()
            self._show()
            await self._continue_as_new_if_suggested()
        return self.status()

    @workflow.signal
    def pause(self, reason: str = "") -> None:
        self._wishes.pause = (True, reason)

    @workflow.signal
    def resume(self) -> None:
        self._wishes.pause = (False, "")

    @workflow.signal
    def poll_now(self) -> None:
        self._wishes.poll = True

    @workflow.signal
    def set_priority(self, cadence: str = "auto") -> None:
        """HOT, WARM or COLD pins the cadence; anything else lets the rule decide again."""
        name = cadence.upper()
        self._wishes.pins.append(Cadence(name) if name in Cadence.__members__ else None)

    @workflow.signal
    def replay(self, chapters: str) -> None:
        """Ingest a chapter's key (`45`) or a range of numbers (`40-45`) again; for a feed, a run's id."""
        self._wishes.replays.append(chapters)

    @workflow.signal(name=WAKE_SIGNAL)
    def wake(self, within_seconds: float = 0.0) -> None:
        """Look within so many seconds: the sweep saw something new, or does not work any more."""
        already = self._wishes.wake_within
        self._wishes.wake_within = within_seconds if already is None else min(already, within_seconds)

    @workflow.signal
    def stop(self) -> None:
        self._wishes.stop = True

    @workflow.query
    def status(self) -> SourceStatus:
        state = self._state
        return SourceStatus(
            source_id=self._source.source_id,
            title=state.facts.title,
            site=state.facts.site,
            cadence=state.facts.cadence,
            circuit=state.facts.circuit,
            failure_count=state.facts.failure_count,
            paused=state.paused,
            pause_reason=state.pause_reason,
            polls=state.polls,
            chapters=state.facts.chapters,
            last_poll_at=state.last_poll_at,
            last_outcome=state.last_outcome,
            next_poll_at=self._next_poll_at(),
            next_poll_reason=state.facts.reason,
            watching=self._look.is_watching,
            waiting_for=self._look.waiting_for,
        )

    def _next_poll_at(self) -> datetime | None:
        is_unknown = self._state.paused or self._wishes.stop or self._look.is_watching
        return None if is_unknown else self._state.due_at

    async def _wait_until_something_is_due(self) -> None:
        state = self._state
        if state.paused:
            self._look.waiting_for = "somebody to resume it"
            await workflow.wait_condition(self._wishes.any)
            self._look.waiting_for = ""
            return
        why = f"next look at {state.facts.title}: {state.facts.cadence}"
        if state.facts.reason not in ("", state.facts.cadence):
            why += f", {state.facts.reason}"
        if self._look.is_probing():
            why = f"circuit open after {state.facts.failure_count} failed polls: next probe"
        await self._wait(state.due_at - workflow.now(), why)

    def _is_due(self) -> bool:
        if self._wishes.stop:
            return False
        if self._wishes.poll:  # a person asked for it, so it happens even if the source is paused
            self._wishes.poll = False
            self._state.asked_for = True
            return True
        return not self._state.paused and workflow.now() >= self._state.due_at

    async def _apply_wishes(self) -> None:
        if self._wishes.pause is not None:
            await self._record_pause(*self._wishes.pause)
        while self._wishes.pins:
            await self._pin(self._wishes.pins.pop(0))
        self._heed_the_sweep()
        while self._wishes.replays and not self._wishes.interrupt():
            await self._replay(self._wishes.replays.pop(0))

    async def _pin(self, cadence: Cadence | None) -> None:
        before = self._state.model_copy()
        self._settle(await self._calls.pin(cadence), before.last_outcome)
        self._state.every_seconds = before.every_seconds
        if not before.interrupted:  # otherwise only the database knows the due time, and `pin` used it
            self._state.due_at = min(before.due_at, self._state.due_at)

    def _heed_the_sweep(self) -> None:
        within, self._wishes.wake_within = self._wishes.wake_within, None
        if within is None or self._state.paused or self._look.is_probing():
            return
        # Sources that are woken together spread their looks over the given time.
        at = workflow.now() + timedelta(seconds=within * workflow.random().random())
        if at < self._state.due_at or self._state.interrupted:
            self._state.due_at, self._state.interrupted = at, False
            self._state.facts.reason = "asked to look by the sweep"
        self._state.woken = self._state.woken or within == 0

    async def _poll(self) -> None:
        """One poll: look, start workflows for what is new, and read the whole list if that is needed."""
        try:
            if not self._state.synced:
                self._state.count_poll(workflow.now())
                await self._read_everything()
                return
            result = await self._look.look()
            if result is None or result.wait is not None:
                return  # interrupted by a wish, or to be continued in a new run: the poll is still due
            self._state.woken = self._state.asked_for = False
            await self._children.enrich(result.items)
            if result.gone:
                self._wishes.stop = True
                return
            started = await self._children.ingest(result.chapters)
            if result.bulk or self._state.refused_starts >= REFUSED_STARTS_BEFORE_BATCH:
                await self._read_everything()
                return
            if result.owed or self._state.owed_after is not None:
                await self._children.tell_owed()
            self._settle(result.facts, result.told or (f"{started} new" if started else "nothing new"))
            if result.pause and self._wishes.pause is None:  # a newer wish of a person goes first
                await self._record_pause(True, result.pause)
        except GaveUp as failure:
            await self._record_failure(failure)

    async def _replay(self, wanted: str) -> None:
        """Ingest again all that the site lists under that key or range; ignore the other chapters."""
        if self._source.is_feed:
            await self._replay_run(wanted)
            return
        cursor, found, refusals = None, 0, 0
        priority = self._children.priority(asked_for=True)
        try:
            while True:
                result = await self._calls.find_chapters(priority, wanted, cursor)
                cursor = result.cursor
                found += await self._children.ingest_again(result)
                if result.wait is None:
                    break
                if not await self._look.sit_out(result.wait):
                    self._wishes.replays.append(wanted)  # repeat it after the pause; a stop drops it
                    return
                refusals = count_refusal(refusals, result.wait)
        except GaveUp as failure:
            self._state.last_outcome = f"replay of {wanted} failed: {failure.error.error_code}"
            return
        self._state.last_outcome = f"replayed {found} chapters ({wanted})"

    async def _replay_run(self, wanted: str) -> None:
        """Read the document of an earlier run of a feed once more."""
        if not wanted.isdigit():
            self._state.last_outcome = f"{wanted!r} is not the number of a run"
            return
        refusals, priority = 0, self._children.priority(asked_for=True)
        try:
            while (result := await self._calls.replay_run(priority, int(wanted))).wait:
                if not await self._look.sit_out(result.wait):
                    self._wishes.replays.append(wanted)  # repeat it after the pause; a stop drops it
                    return
                refusals = count_refusal(refusals, result.wait)
            await self._children.enrich(result.items)
        except GaveUp as failure:
            self._state.last_outcome = f"replay of run {wanted} failed: {failure.error.error_code}"
            return
        self._state.last_outcome = f"replayed run {wanted}: {result.told}"

    async def _read_everything(self) -> None:
        """Store the whole list in batches, then notify followers of the chapters that are news."""
        result = await self._backfill()
        if result.wait is not None:
            return
        self._state.woken = self._state.asked_for = False
        if result.gone:
            self._wishes.stop = True
            return
        if result.owed:
            await self._children.tell_owed()
        self._state.refused_starts = 0
        self._state.synced = True
        self._settle(result.facts, _listing_outcome(result))

    async def _backfill(self) -> BackfillResult:
        progress: BackfillProgress | None = None
        refusals = 0
        while True:
            result = await self._look.unless_interrupted(
                self._calls.backfill(self._children.priority(), progress, probing=self._look.is_probing()),
                BackfillResult(wait=NOT_NOW),
            )
            progress = result.progress
            if result.unfinished:
                continue
            if result.wait is None or not await self._look.sit_out(result.wait):
                return result
            if self._look.goes_on_in_a_new_run():
                return result
            refusals = count_refusal(refusals, result.wait)

    async def _continue_as_new_if_suggested(self) -> None:
        if self._wishes.stop or not _is_history_long(self._source.code):
            return
        await workflow.wait_condition(workflow.all_handlers_finished)
        if self._wishes.any():
            return  # fulfil the wishes first; the next round continues as new
        workflow.continue_as_new(self._source.model_copy(update={"state": self._state, "code": CODE}))

    async def _record_failure(self, failure: GaveUp) -> None:
        facts = await self._calls.record_failure(failure)
        self._state.woken = self._state.asked_for = False
        if facts is None:
            self._wishes.stop = True
        self._settle(facts, f"failed: {failure.error.error_code}")

    async def _record_pause(self, paused: bool, reason: str) -> None:
        self._wishes.pause = None
        if self._state.paused and not paused:
            # Look at once: the sweep's wake-ups during the pause had no effect.
            self._state.due_at, self._state.interrupted = workflow.now(), False
        self._state.paused, self._state.pause_reason = paused, reason
        await self._calls.record_pause(paused, reason)

    async def _wait(self, duration: timedelta, why: str) -> None:
        """A durable timer that any wish ends early."""
        if duration <= timedelta(0) or self._wishes.any():
            return
        self._look.waiting_for = why
        try:
            await workflow.wait_condition(self._wishes.any, timeout=duration, timeout_summary=for_web_ui(why))
        except TimeoutError:
            pass
        finally:
            self._look.waiting_for = ""

    def _settle(self, facts: SourceFacts | None, outcome: str) -> None:
        self._state.last_outcome = outcome
        if facts is not None:
            self._state.facts = facts
            self._state.interrupted = False
            self._state.every_seconds = (facts.next_check_at - workflow.now()).total_seconds()
            unfinished = self._state.owed_after is not None
            self._state.due_at = workflow.now() if unfinished else facts.next_check_at

    def _show(self) -> None:
        """Search attributes (only when they change: an upsert is an event) and details for the Web UI."""
        facts = self._state.facts
        shown = (facts.cadence.value, facts.circuit.value)
        if shown != self._shown:
            self._shown = shown
            workflow.upsert_search_attributes(
                [
                    SearchAttributeKey.for_keyword("Cadence").value_set(shown[0]),
                    SearchAttributeKey.for_keyword("Circuit").value_set(shown[1]),
                ]
            )
        workflow.set_current_details(details(self.status()))


def _is_history_long(code: int) -> bool:
    info = workflow.info()
    return info.is_continue_as_new_suggested() or (
        info.get_current_history_length() >= LONGEST_HISTORY and is_patched(WATCHED_SOURCES, code)
    )


def _listing_outcome(result: BackfillResult) -> str:
    parts = [f"read the whole list, {result.progress.new if result.progress else 0} new"]
    if result.vanished:
        parts.append(f"{result.vanished} vanished")
    if result.gaps:
        parts.append(f"missing: {result.gaps}")
    return ", ".join(parts)
