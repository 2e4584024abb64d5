"""The counter of the fic queue: what people ask, from the command line or Discord (F1, F4, F6, F8)."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.fic import Subscription
from activities.fic_asking import checked_name, checked_note, checked_tags, subscribe
from activities.fic_plan import FicPlanner, fic_policy
from activities.fic_result import judge_again
from activities.fic_turn import call_next
from activities.looking_after import look_after_fic
from fascicle.domain.errors import UsageError
from fascicle.domain.fic import FINISHED, FicKind, FicRef, FicView, JobState
from fascicle.domain.fic_url import normal_form
from fascicle.domain.names import LOOK_AGAIN_SIGNAL, fic_workflow_id
from fascicle.runtime.dependencies import Dependencies
from fascicle.runtime.ship_rules import load_ship_rules
from fascicle.sites.fic import OtherFicSites
from fascicle.storage import channel as channels
from fascicle.storage import discord as replies
from fascicle.storage import fic as fics
from fascicle.storage import fic_job as jobs
from fascicle.storage import fic_page as saved_pages
from fascicle.storage import library
from fascicle.storage.database import transaction
from fascicle.storage.fic_notice import FIC_CHANNEL
from fascicle.storage.fic_view import listing
from fascicle.storage.notice import answered
from fascicle.storage.vault import Vault
from fascicle.web.discord_deeds import Reply

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
        """The fic's normal form; where only the site knows it, the site is asked."""
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
        """Ask for a fic. If it is there within the wait, the answer is all there is to be told (F4)."""
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
        """Another round of a job that ended so; False: it did not."""
        async with transaction(self._engine) as connection:
            job = await jobs.find(connection, ref.key, lock=True)
            if job is None:
                raise _not_in_queue(ref)
            begins = job["state"] in ended
            if begins:
                await jobs.begin_round(connection, ref.key, datetime.now(UTC))
                await jobs.subscribe_earlier_ones(connection, ref.key)
        if begins:
            await look_after_fic(self._client, ref)
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
        """Take a fic out of the queue; what was read of it stays. False: it was not in it."""
        ref = await self.normal_form(url)
        async with transaction(self._engine) as connection:
            gone = await jobs.clear(connection, ref.key)
        if gone:  # its workflow, if need be a new one, says so in replies that wait, and ends
            await look_after_fic(self._client, ref)
            await call_next(self._engine, self._client, ref.site)
        return gone

    async def reset(self, url: str | None = None) -> int:
        """Take up what is stuck: jobs that nobody works on. With `url`: that one, also if it had failed."""
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
        """This fic belongs here all the same: remembered, and applied to what was read already (F6)."""
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
            await look_after_fic(self._client, ref)
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
        """Look until it is done or the wait is over. The workflow's own answer is short."""
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
        """Their reply on Discord will say what became of it."""
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
                # First it says that they wait; whoever calls this writes that.
                not_before=datetime.now(UTC) + _FIRST_WORD,
            )
        async with transaction(self._engine) as connection:
            now = await self._planner.view(connection, view.key) or view
            if now.finished:  # while the reply was kept: then the first word is the last
                await replies.settle_reply(connection, kept, now.state)
        return now

    async def _heard(self, view: FicView, user: str) -> None:
        now = datetime.now(UTC)
        async with transaction(self._engine) as connection:
            user_id = await library.find_user(connection, user)
            spared = user_id is not None and await answered(connection, view.key, view.round, user_id, now)
        if spared:  # its workflow waits only to send that message
            await self._say_look_again(view.workflow_id)

    async def _take_up(self, ref: FicRef) -> bool:
        """Start its workflow if it has none. True: it had none."""
        try:
            found = await self._client.get_workflow_handle(fic_workflow_id(ref.key)).describe()
            if found.status == WorkflowExecutionStatus.RUNNING:
                return False
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
        await look_after_fic(self._client, ref)
        return True

    async def _say_look_again(self, workflow_id: str) -> None:
        try:
            await self._client.get_workflow_handle(workflow_id).signal(LOOK_AGAIN_SIGNAL)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # then it is over already
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
