"""The steps of publishing a post (P3). Each is one request, apart from a token's renewal, and commits its
result, so that nothing is done twice, however long the gate delays the next step."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from fascicle.domain.errors import FascicleError, MustWait, PermanentError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.publishing.post import CHECKED, PostState, check_post, check_size
from fascicle.domain.publishing.post_plan import Plan, PlanInput
from fascicle.domain.publishing.publication import MAX_SUBMITS, MAX_UNCLEAR, matching_entries
from fascicle.net.http import Gated
from fascicle.services.publishing.next_step import Planner
from fascicle.services.publishing.publish_call import PublishCall, Superseded
from fascicle.services.publishing.tokens import Tokens
from fascicle.sites.deviantart.oauth import account_gate
from fascicle.sites.deviantart.site import AlreadyPublished, Artwork, DeviantArt, Publication, Unclear, Upload
from fascicle.storage.database import transaction
from fascicle.storage.publishing import publication as publishing
from fascicle.storage.publishing.objects import ObjectStore
from fascicle.temporal.metrics import Metrics

T = TypeVar("T")
# Errors that only the operator can fix: posts wait for that and do not fail.
_KEYS = frozenset({"key_unknown", "cannot_decrypt", "no_key", "wrong_setting"})
_OPERATORS_BUSINESS = _KEYS | {"client_refused", "no_client", "no_refresh_token"}
_OPERATOR_SECONDS = 60.0


class StepInput(BaseModel):
    post_id: str
    now: datetime
    file_id: int | None = None
    call: int = 0
    last_look: bool = False


class StepResult(BaseModel):
    plan: Plan | None = None
    wait_seconds: float | None = None
    why: str = ""


class PublishActivities:
    def __init__(
        self,
        engine: AsyncEngine,
        planner: Planner,
        tokens: Tokens,
        site: DeviantArt,
        objects: ObjectStore,
        gate: GatePolicy,
        metrics: Metrics,
    ) -> None:
        self._engine = engine
        self._planner = planner
        self._policy = planner.policy
        self._tokens = tokens
        self._site = site
        self._objects = objects
        self._gate = gate
        self._metrics = metrics

    @activity.defn
    async def check_account(self, step: StepInput) -> StepResult:
        """Check that the post can be published, and that the account's token works."""
        return await self._step(step, self._check)

    @activity.defn
    async def upload_file(self, step: StepInput) -> StepResult:
        return await self._step(step, self._upload)

    @activity.defn
    async def take_baseline(self, step: StepInput) -> StepResult:
        """Store the gallery's entries before publishing: a new entry afterwards may be the publication."""
        return await self._step(step, self._take_baseline)

    @activity.defn
    async def publish_file(self, step: StepInput) -> StepResult:
        """One call, after its intent was committed. An unclear outcome is left to `look_for_file`."""
        return await self._step(step, self._publish)

    @activity.defn
    async def look_for_file(self, step: StepInput) -> StepResult:
        """Search the gallery for a publication whose answer was lost."""
        return await self._step(step, self._look)

    async def _step(self, step: StepInput, work: Callable[[StepInput], Awaitable[None]]) -> StepResult:
        async with heartbeating():
            try:
                await work(step)
            except MustWait as wait:
                return await self._must_wait(step, wait.seconds, wait.message)
            except Superseded:
                pass  # the row decides the next step
            except PermanentError as error:
                if error.code in _OPERATORS_BUSINESS:
                    return await self._must_wait(step, _OPERATOR_SECONDS, error.message)
                if error.code != "account_paused":
                    raise
            wanted = PlanInput(post_id=step.post_id, now=step.now, checked=True)
            return StepResult(plan=await self._planner.plan(wanted))

    async def _must_wait(self, step: StepInput, seconds: float, why: str) -> StepResult:
        async with transaction(self._engine) as connection:
            await publishing.waits_for(connection, step.post_id, why)
        return StepResult(wait_seconds=seconds, why=why)

    async def _check(self, step: StepInput) -> None:
        post, files = await self._read(step)
        check_post(**{name: post[name] for name in CHECKED})
        if not files:
            raise PermanentError("no_files", "The post has no files.")
        for file in files:
            if file["stored_at"] is None:
                raise PermanentError("object_missing", f"{file['file_name']} was never stored completely.")
            check_size(file["file_name"], await self._size(file), largest=self._policy.file_max_bytes)
        gate = self._gate_of(post)
        await self._with_token(post, lambda bearer: self._site.check(bearer, gate))

    async def _upload(self, step: StepInput) -> None:
        post, file = await self._read_file(step)
        if file["item_id"] is not None:
            return
        if file["submits"] >= MAX_SUBMITS:
            raise PermanentError(
                "submit_unclear",
                f"Uploading {file['file_name']} was answered unclearly {MAX_SUBMITS} times. "
                "Nothing was published; `fascicle post retry` uploads it again.",
            )
        item_id = await self._with_token(post, lambda bearer: self._submit(bearer, post, file))
        async with transaction(self._engine) as connection:
            await publishing.keep_item(connection, file["id"], item_id)
            detail = {"file": file["id"], "item_id": item_id}
            await publishing.note(connection, step.post_id, "uploaded", detail)

    async def _submit(self, bearer: str, post: dict[str, Any], file: dict[str, Any]) -> str:
        size, chunks = await self._objects.read(file["object_key"])
        upload = Upload(file["file_name"], file["content_type"], size, chunks)

        async def count() -> None:
            async with transaction(self._engine) as connection:
                await publishing.count_submit(connection, file["id"])

        try:
            return await self._site.submit(
                bearer,
                self._gate_of(post),
                _artwork(post),
                upload,
                before_sending=count,
                timeout_seconds=self._policy.timeout_seconds,
            )
        except Unclear:
            raise
        except FascicleError:
            async with transaction(self._engine) as connection:
                await publishing.submit_was_refused(connection, file["id"], file["submits"])
            raise

    async def _take_baseline(self, step: StepInput) -> None:
        post, file = await self._read_file(step)
        gate = self._gate_of(post)
        entries = await self._with_token(post, lambda bearer: self._site.newest(bearer, gate))
        async with transaction(self._engine) as connection:
            await publishing.keep_baseline(connection, file["id"], [e.deviation_id for e in entries])

    async def _publish(self, step: StepInput) -> None:
        post, file = await self._read_file(step)
        if file["published_at"] is not None or file["intent_at"] is not None or file["item_id"] is None:
            return
        call = PublishCall(self._engine, post["id"], file["id"], step.call)
        try:
            published = await self._with_token(
                post, lambda bearer: self._publish_once(bearer, post, file, call)
            )
        except Unclear as error:
            await call.note("unclear", error)
        except AlreadyPublished as error:
            await call.was_refused_as_published(error)
        except PermanentError as error:
            await self._refused(post, file, call.number, error)
        else:
            await self._is_out(post, file, published, "published")

    async def _publish_once(
        self, bearer: str, post: dict[str, Any], file: dict[str, Any], call: PublishCall
    ) -> Publication:
        try:
            return await self._site.publish(
                bearer,
                self._gate_of(post),
                file["item_id"],
                _artwork(post),
                before_sending=call.intend,
                timeout_seconds=self._policy.timeout_seconds,
            )
        except (Unclear, AlreadyPublished):
            raise
        except FascicleError as error:
            await call.withdraw(error)
            raise

    async def _refused(
        self, post: dict[str, Any], file: dict[str, Any], call: int, error: PermanentError
    ) -> None:
        """This call definitely published nothing, but an earlier unclear call may have."""
        if not file["unclear"]:
            raise error
        message = f"{error.message} An earlier call was answered unclearly."
        await self._leave_to_a_person(post, file, call, error.code, message)

    async def _look(self, step: StepInput) -> None:
        post, file = await self._read_file(step)
        if file["intent_at"] is None:
            return
        gate = self._gate_of(post)
        entries = await self._with_token(post, lambda bearer: self._site.newest(bearer, gate))
        async with transaction(self._engine) as connection:
            known = await publishing.known_deviations(connection, post["account_id"])
        matches = matching_entries(
            entries,
            title=post["title"],
            intent_at=file["first_intent_at"] or file["intent_at"],
            known={*known, *(file["baseline"] or ())},
        )
        if len(matches) == 1:
            found = Publication(matches[0].deviation_id, matches[0].url)
            await self._is_out(post, file, found, "found in the gallery")
        elif matches:
            urls = ", ".join(match.url or match.deviation_id for match in matches)
            message = f"Several new entries have its title: {urls}"
            await self._leave_to_a_person(post, file, file["intents"], "several_matches", message)
        elif step.last_look:
            await self._not_found(post, file)

    async def _not_found(self, post: dict[str, Any], file: dict[str, Any]) -> None:
        if file["refused_as_published"]:
            out = Publication(None, None)
            await self._is_out(post, file, out, "the site says it is published; not found in the gallery")
        elif file["unclear"] + 1 >= MAX_UNCLEAR:
            message = f"Publishing was answered unclearly {MAX_UNCLEAR} times."
            await self._leave_to_a_person(post, file, file["intents"], "publish_unclear", message)
        else:
            async with transaction(self._engine) as connection:
                await publishing.call_was_unclear(connection, post["id"], file["id"], file["intents"])

    async def _is_out(
        self, post: dict[str, Any], file: dict[str, Any], publication: Publication, how: str
    ) -> None:
        async with transaction(self._engine) as connection:
            await publishing.file_is_out(
                connection,
                post["id"],
                file["id"],
                deviation_id=publication.deviation_id,
                url=publication.url,
                how=how,
            )
        self._metrics.count_posts("published")

    async def _leave_to_a_person(
        self, post: dict[str, Any], file: dict[str, Any], call: int, code: str, message: str
    ) -> None:
        async with transaction(self._engine) as connection:
            left = await publishing.leave_to_a_person(
                connection, post["id"], file["id"], call, code=code, message=message
            )
        if left:
            self._metrics.count_posts("unconfirmed")

    async def _with_token(self, post: dict[str, Any], call: Callable[[str], Awaitable[T]]) -> T:
        """Renew a refused token once; if the new one is refused too, the account has lost its rights."""
        bearer = await self._tokens.bearer(post["account_id"])
        try:
            return await call(bearer)
        except PermanentError as error:
            if error.code != "token_refused":
                raise
        bearer = await self._tokens.bearer(post["account_id"], refused=bearer)
        try:
            return await call(bearer)
        except PermanentError as error:
            if error.code != "token_refused":
                raise
            raise PermanentError("auth_failed", error.message, http_status=error.http_status) from error

    async def _size(self, file: dict[str, Any]) -> int:
        size = await self._objects.size(file["object_key"])
        if size is None:
            raise PermanentError(
                "object_missing",
                f"{file['file_name']} is not in the object store any more. Put it back there as "
                f"{file['object_key']}, then: fascicle post retry {file['post_id']}",
            )
        return size

    async def _read(self, step: StepInput) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The post and its files. Raises Superseded if it is not in progress any more."""
        async with transaction(self._engine) as connection:
            post = await publishing.lock_post(connection, step.post_id)
            if post is None or post["state"] not in (PostState.UPLOADING, PostState.PUBLISHING):
                raise Superseded("superseded", f"Post {step.post_id} is not under way any more.")
            return post, await publishing.files_of(connection, step.post_id)

    async def _read_file(self, step: StepInput) -> tuple[dict[str, Any], dict[str, Any]]:
        post, files = await self._read(step)
        for file in files:
            if file["id"] == step.file_id:
                return post, file
        raise Superseded("superseded", f"Post {step.post_id} has no file {step.file_id} any more.")

    def _gate_of(self, post: dict[str, Any]) -> Gated:
        return account_gate(post["account_id"], self._gate)


def _artwork(post: dict[str, Any]) -> Artwork:
    return Artwork(**{name: post[name] for name in Artwork.__dataclass_fields__})
