"""The fic queue's requests from people, on the command line or on Discord (F1, F4, F6, F8)."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.fic import FINISHED, FicKind, FicRef, FicView, JobState, Subscription
from fascicle.domain.fics.fic_url import normal_form
from fascicle.domain.names import LOOK_AGAIN_SIGNAL, fic_workflow_id
from fascicle.domain.notifications.discord_reply import Reply
from fascicle.jobs.fics import parse_fic_job
from fascicle.services.dependencies import Dependencies
from fascicle.services.fics.next_step import FicPlanner, fic_policy
from fascicle.services.fics.result import judge_again
from fascicle.services.fics.ship_rules import load_ship_rules
from fascicle.services.fics.submission import checked_name, checked_note, checked_tags, subscribe
from fascicle.services.fics.turns import call_next
from fascicle.sites.fic import OtherFicSites
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic as fics
from fascicle.storage.fics import fic_job as jobs
from fascicle.storage.fics import fic_page as saved_pages
from fascicle.storage.fics.fic_notice import FIC_CHANNEL
from fascicle.storage.fics.fic_view import listing
from fascicle.storage.notifications import channel as channels
from fascicle.storage.notifications import discord as replies
from fascicle.storage.notifications.notice import answered
from fascicle.storage.operations.vault import Vault
from fascicle.storage.series import library
from fascicle.temporal.workflow_start import start_job

_LOOK_EVERY_SECONDS = 0.1
_AT_ONCE = 10
_FIRST_WORD = timedelta(seconds=5)


class FicDesk:
    def __init__(
        self,
        engine: AsyncEngine,
        client: Client,
        planner: FicPlanner,
        others: OtherFicSites,
        *,
        vault: Vault,
        rules_file: Path,
        instant_seconds: float,
    ) -> None:
        self._engine = engine
        self._client = client
        self._planner = planner
        self._others = others
        self._vault = vault
        self._rules_file = rules_file
        self._instant_seconds = instant_seconds

    async def normal_form(self, url: str) -> FicRef:
        """The fic's normal form; asks the site if only the site knows it."""
        from fascicle.sites.fanficfare import normal_form_of

        ref = normal_form(url, normal_form_of)
        return await self._others.look_up(ref) if ref.kind is FicKind.NEEDS_LOOKUP else ref

    async def add(
        self,
        url: str,
        user: str,
        *,
        note: str | None = None,
        tags: Sequence[str] = (),
        refresh: bool = False,
        page: bytes | None = None,
        wait_seconds: float | None = None,
        reply: Reply | None = None,
    ) -> FicView:
        """Ask for a fic. If it finishes within the wait, the returned answer replaces the message (F4)."""
        wait = self._instant_seconds if wait_seconds is None else wait_seconds
        asked = Subscription(
            user=checked_name(user),
            note=checked_note(note),
            tags=checked_tags(tags),
            refresh=refresh,
            waits_seconds=wait,
        )
        ref = await self.normal_form(url)
        if page is not None:
            async with transaction(self._engine) as connection:
                await saved_pages.keep(connection, ref.key, ref.url, page, given=True)
        view = await self._wait_at_the_counter(await subscribe(self._client, ref, asked), wait)
        if view.finished and wait > 0:
            await self._heard(view, asked.user)
        return view if reply is None or view.finished else await self._keep_reply(view, asked.user, reply)

    async def update(
        self, url: str, user: str, *, wait_seconds: float | None = None, reply: Reply | None = None
    ) -> FicView:
        """Read it again."""
        return await self.add(url, user, refresh=True, wait_seconds=wait_seconds, reply=reply)

    async def refresh(self, url: str, *, wait_seconds: float | None = None) -> FicView:
        """Read it again for those who waited for it last time."""
        ref = await self.normal_form(url)
        await self._begin_anew(ref, FINISHED)
        wait = self._instant_seconds if wait_seconds is None else wait_seconds
        return await self._wait_at_the_counter(await self.show(url), wait)

    async def _begin_anew(self, ref: FicRef, ended: Collection[JobState]) -> bool:
        """Start another round if the job ended in one of these states; False: it did not."""
        async with transaction(self._engine) as connection:
            job = await jobs.find(connection, ref.key, lock=True)
            if job is None:
                raise _not_in_queue(ref)
            begins = job["state"] in ended
            if begins:
                await jobs.begin_round(connection, ref.key, datetime.now(UTC))
                await jobs.subscribe_earlier_ones(connection, ref.key)
        if begins:
            await start_job(self._client, parse_fic_job(ref))
        return begins

    async def show(self, url: str) -> FicView:
        ref = await self.normal_form(url)
        async with transaction(self._engine) as connection:
            view = await self._planner.view(connection, ref.key)
        if view is None:
            raise _not_in_queue(ref)
        return view

    async def queue(
        self,
        limit: int = 50,
        *,
        states: list[JobState] | None = None,
        site: str | None = None,
        user_id: str | None = None,
    ) -> list[FicView]:
        async with transaction(self._engine) as connection:
            return await listing(
                connection,
                self._planner.policy.distances,
                states=states,
                site=site,
                user_id=user_id,
                limit=limit,
            )

    async def clear(self, url: str) -> bool:
        """Remove a fic from the queue; the data read about it stays. False: it was not in the queue."""
        ref = await self.normal_form(url)
        async with transaction(self._engine) as connection:
            gone = await jobs.clear(connection, ref.key)
        if gone:  # its workflow, if necessary a new one, updates the waiting replies and ends
            await start_job(self._client, parse_fic_job(ref))
            await call_next(self._engine, self._client, ref.site)
        return gone

    async def reset(self, url: str | None = None) -> int:
        """Restart jobs that have no workflow. With `url`: only that job, also if it failed."""
        if url is None:
            async with transaction(self._engine) as connection:
                unfinished = [FicRef.model_validate(row) for row in await jobs.unfinished(connection)]
            taken_up = 0
            for start in range(0, len(unfinished), _AT_ONCE):
                taken_up += sum(
                    await asyncio.gather(*map(self._take_up, unfinished[start : start + _AT_ONCE]))
                )
            return taken_up
        ref = await self.normal_form(url)
        if await self._begin_anew(ref, {JobState.ERROR}):
            return 1
        async with transaction(self._engine) as connection:
            is_unfinished = bool(await jobs.unfinished(connection, key=ref.key))
        return int(is_unfinished and await self._take_up(ref))

    async def override(self, url: str, moderator: str, reason: str | None = None) -> FicView:
        """Accept this fic against the rules: remember that, and apply it to the data already read (F6)."""
        ref = await self.normal_form(url)
        rules = load_ship_rules(self._rules_file)
        async with transaction(self._engine) as connection:
            job = await jobs.find(connection, ref.key, lock=True)
            await fics.remember_override(connection, ref.key, checked_name(moderator), checked_note(reason))
            concluded = await judge_again(connection, ref, rules)
            changes = job is not None and job["state"] == JobState.NOTP and concluded is not None
            if job is not None and concluded is not None and changes:
                await jobs.judge_anew(
                    connection,
                    ref.key,
                    job["round"],
                    concluded.state,
                    reasons=concluded.reasons,
                    works=concluded.works,
                )
                await self._planner.tell(connection, ref.key, "done", datetime.now(UTC))
            view = await self._planner.view(connection, ref.key)
        if changes:
            await start_job(self._client, parse_fic_job(ref))
        return view or _unasked(ref, moderator)

    async def take_interaction(self, interaction_id: str) -> bool:
        async with transaction(self._engine) as connection:
            return await replies.take_interaction(connection, interaction_id)

    async def set_channel(self, url: str | None) -> None:
        async with transaction(self._engine) as connection:
            await channels.set_purpose(connection, self._vault, FIC_CHANNEL, url)

    async def channel(self) -> str | None:
        async with transaction(self._engine) as connection:
            return await channels.of_purpose(connection, self._vault, FIC_CHANNEL)

    async def _wait_at_the_counter(self, view: FicView, seconds: float) -> FicView:
        """Check until the job is finished or the wait is over; the workflow itself answers at once."""
        deadline = asyncio.get_running_loop().time() + seconds
        view = await self._look(view)
        while not view.finished and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
            view = await self._look(view)
        return view

    async def _look(self, view: FicView) -> FicView:
        async with transaction(self._engine) as connection:
            return await self._planner.view(connection, view.key) or view

    async def _keep_reply(self, view: FicView, user: str, reply: Reply) -> FicView:
        """Keep the Discord reply, so that it will show the result."""
        async with transaction(self._engine) as connection:
            user_id = await library.find_user(connection, user)
            assert user_id is not None
            kept = await replies.keep_reply(
                connection,
                self._vault,
                job_key=view.key,
                user_id=user_id,
                application_id=reply.application_id,
                token=reply.token,
                channel_id=reply.channel_id,
                discord_user_id=reply.discord_user_id,
                received_at=reply.received_at,
                # The caller first writes into the reply that the fic waits.
                not_before=datetime.now(UTC) + _FIRST_WORD,
            )
        async with transaction(self._engine) as connection:
            now = await self._planner.view(connection, view.key) or view
            if now.finished:  # meanwhile: then the caller's first text is the final one
                await replies.settle_reply(connection, kept, now.state)
        return now

    async def _heard(self, view: FicView, user: str) -> None:
        now = datetime.now(UTC)
        async with transaction(self._engine) as connection:
            user_id = await library.find_user(connection, user)
            spared = user_id is not None and await answered(connection, view.key, view.round, user_id, now)
        if spared:  # its workflow only waits to send the message that is now discarded
            await self._say_look_again(view.workflow_id)

    async def _take_up(self, ref: FicRef) -> bool:
        """Start the job's workflow if none is running. Returns True if it started one."""
        try:
            found = await self._client.get_workflow_handle(fic_workflow_id(ref.key)).describe()
            if found.status == WorkflowExecutionStatus.RUNNING:
                return False
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
        await start_job(self._client, parse_fic_job(ref))
        return True

    async def _say_look_again(self, workflow_id: str) -> None:
        try:
            await self._client.get_workflow_handle(workflow_id).signal(LOOK_AGAIN_SIGNAL)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # not found: the workflow has ended already
                raise


def _not_in_queue(ref: FicRef) -> UsageError:
    return UsageError(
        "not_in_queue", f"Nobody has asked for {ref.url} yet: `fascicle fic add {ref.url} --user NAME`."
    )


def _unasked(ref: FicRef, moderator: str) -> FicView:
    return FicView(
        key=ref.key,
        workflow_id=fic_workflow_id(ref.key),
        url=ref.url,
        site=ref.site,
        kind=ref.kind,
        state=JobState.PENDING,
        round=0,
        override_by=moderator,
        waiting_for="Nobody has asked for it yet; the override is remembered",
    )


def open_desk(dependencies: Dependencies, client: Client) -> FicDesk:
    settings = dependencies.settings
    return FicDesk(
        dependencies.engine,
        client,
        FicPlanner(dependencies.engine, fic_policy(settings)),
        dependencies.other_fics,
        vault=dependencies.vault,
        rules_file=settings.ship_rules,
        instant_seconds=settings.fic_instant_seconds,
    )
