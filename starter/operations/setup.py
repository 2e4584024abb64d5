"""`fascicle setup`: migrations, the namespace, search attributes, schedules, missing workflows."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer
from temporalio.client import Client
from temporalio.service import RPCError

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.services.operations.missing_workflows import rebuild
from fascicle.services.operations.schedules import ensure_schedules
from fascicle.settings.settings import Settings
from fascicle.storage.database import upgrade
from fascicle.temporal.client import (
    check_namespace,
    create_namespace,
    keep_history,
    register_search_attributes,
)
from starter.context import Reach, command, database_only, temporal_client
from starter.options import AsJson
from starter.output import print_facts, print_json, print_note
from starter.temporal_words import SILENT

T = TypeVar("T")
PAUSE_SECONDS = 1.0


@command
async def setup(
    make_namespace: Annotated[
        bool,
        typer.Option("--create-namespace", help="Create TEMPORAL_NAMESPACE if the server has none of it."),
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for services that are still starting.")
    ] = 60,
    as_json: AsJson = False,
) -> None:
    """Prepare the database and Temporal; start workflows that are missing. Repeatable."""

    done = await once_they_answer(lambda: _prepare_all(make_namespace), seconds=wait)
    print_json(done) if as_json else print_facts({"database": "up to date", **done})


async def _prepare_all(make_namespace: bool) -> dict[str, Any]:
    async with database_only(any_schema=True) as dependencies:
        await upgrade(dependencies.engine)
        client = await temporal_client(dependencies, may_begin=True)
        return await _prepare_temporal(Reach(dependencies, client), make_namespace)


async def _prepare_temporal(r: Reach, make_namespace: bool) -> dict[str, Any]:
    settings = r.dependencies.settings
    created = await _namespace(r.client, settings, make_namespace)
    added = await register_search_attributes(r.client)
    await ensure_schedules(r.client, settings)
    refused: list[str] = []
    started = sum((await rebuild(r.dependencies, r.client, refused=refused)).values()) - len(refused)
    for line in refused:
        print_note(f"Temporal does not take {line}")
    return {
        "namespace_created": created,
        "history_days": await check_namespace(r.client),
        "search_attributes_added": added,
        "workflows_started": started,
    }


async def _namespace(client: Client, settings: Settings, make: bool) -> bool:
    """Returns True if it was created. An existing retention stays, unless the setting was set explicitly."""
    try:
        kept_for = await check_namespace(client)
    except PermanentError as error:
        if error.code != "unknown_namespace" or not make:
            raise
        return await create_namespace(client, settings.history_days)
    if "history_days" in settings.model_fields_set and kept_for != settings.history_days:
        await keep_history(client, settings.history_days)
    return False


async def once_they_answer(attempt: Callable[[], Awaitable[T]], *, seconds: float) -> T:
    """Repeat the attempt, which must be safe to repeat, until the services answer or the time is over."""
    deadline, said = time.monotonic() + seconds, ""
    while True:
        try:
            return await attempt()
        except (RetryableError, RPCError) as error:
            is_late = time.monotonic() >= deadline
            if is_late or (isinstance(error, RPCError) and error.status not in SILENT):
                raise
            if error.message != said:
                print_note(f"waiting: {error.message}")
            said = error.message
        await asyncio.sleep(PAUSE_SECONDS)
