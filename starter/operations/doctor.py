"""`fascicle doctor`: checks the settings, the database, Temporal and the workers."""

import asyncio
import platform
import sys
from typing import TYPE_CHECKING

import typer

from fascicle.domain.errors import FascicleError
from fascicle.domain.names import TASK_QUEUES
from fascicle.process.disk_space import LOW_BYTES, free_bytes
from fascicle.services.dependencies import build_sandbox, build_sites, standalone_http
from fascicle.settings.setting_names import unknown_in_words
from fascicle.settings.settings import Settings
from fascicle.storage.database import check_schema
from starter.context import (
    command,
    database_only,
    effective_settings,
    running_stack,
    temporal_is_named,
    unchecked_client,
    with_a_hint,
)
from starter.operations.worker_load import keeps_up, late_workflow_tasks
from starter.options import AsJson
from starter.output import print_json, print_table

if TYPE_CHECKING:
    from temporalio.client import Client

    from fascicle.temporal.deployment import QueueState


_OPEN_TO_ALL = (
    "Every user of this machine can read and steer all workflows: the embedded Temporal asks nobody who they "
    "are. docs/operations.md, The embedded Temporal"
)


@command
async def doctor(as_json: AsJson = False) -> None:
    """Check everything and say what to do about what is wrong."""

    checks = await _examine()
    if as_json:
        print_json(checks)
    else:
        print_table(("check", "state", "detail"), checks, empty="")
    if any(check["state"] == "FAIL" for check in checks):
        raise typer.Exit(1)


def _check(name: str, ok: bool, detail: str) -> dict[str, str]:
    return {"check": name, "state": "ok" if ok else "FAIL", "detail": detail}


async def _examine() -> list[dict[str, str]]:
    checks = [_check("python", sys.version_info >= (3, 11), platform.python_version())]
    settings = effective_settings()
    unknown = unknown_in_words()
    checks.append(_check("settings", not unknown, "\n".join(unknown) or f"data folder {settings.data_dir}"))
    stack = running_stack(settings.data_dir)
    named = bool(settings.database_url and temporal_is_named())
    where = "services of the environment" if named else "nothing runs: fascicle up"
    checks.append(_examine_disk(settings))
    checks.append(_check("stack", named, "embedded stack is running" if stack else where))
    checks.append(await _examine_adapters(settings))
    checks.append(await _examine_database())
    checks.append(await _examine_payload_keys())
    checks += await _examine_temporal()
    if stack is not None and "web_ui" in stack:
        checks.append({"check": "temporal access", "state": "note", "detail": _OPEN_TO_ALL})
    late = await late_workflow_tasks(stack, settings)
    if late is not None:
        checks.append(_check("workflow tasks", *keeps_up(late)))
    return checks


def _examine_disk(settings: Settings) -> dict[str, str]:
    free = free_bytes(settings.data_dir)
    advice = "" if free >= LOW_BYTES else f": make room on the disk of {settings.data_dir}"
    return _check("disk", free >= LOW_BYTES, f"{free / 1e9:.1f} GB free{advice}")


async def _examine_adapters(settings: Settings) -> dict[str, str]:
    async with standalone_http(settings) as http, build_sandbox(settings) as sandbox:
        sites = build_sites(settings, http, sandbox)
    if sites.broken:
        return _check("adapters", False, "\n".join(adapter.error for adapter in sites.broken))
    return _check("adapters", True, f"sites: {', '.join(sites.names)}")


async def _examine_database() -> dict[str, str]:
    try:
        async with database_only(any_schema=True) as dependencies:
            return _check("database", True, f"schema {await check_schema(dependencies.engine)}")
    except FascicleError as error:
        return _check("database", False, with_a_hint(error))


async def _examine_payload_keys() -> dict[str, str]:
    from fascicle.temporal.key_agreement import agree_on_keys

    try:
        async with database_only() as dependencies:
            keys = dependencies.settings.payload
            await agree_on_keys(dependencies.engine, keys, may_begin=False)
    except FascicleError as error:
        return _check("payload keys", False, error.message)
    return _check(
        "payload keys", True, "none: payloads are plain" if keys.seals_with is None else keys.seals_with
    )


async def _examine_temporal() -> list[dict[str, str]]:
    from temporalio.service import RPCError

    from starter.temporal_words import refusal

    if not temporal_is_named():
        return [_check("temporal", False, "no server named: fascicle up, or set TEMPORAL_ADDRESS")]
    try:
        return await _examine_server(await unchecked_client(effective_settings()))
    except FascicleError as error:
        return [_check("temporal", False, with_a_hint(error))]
    except RPCError as error:
        return [_check("temporal", False, refusal(error))]


async def _examine_server(client: "Client") -> list[dict[str, str]]:
    from fascicle.temporal.client import check_namespace, missing_search_attributes
    from fascicle.temporal.deployment import queue_state

    days = await check_namespace(client)
    missing = await missing_search_attributes(client)
    attributes = f"missing: {', '.join(missing)}: fascicle setup" if missing else "registered"
    states = await asyncio.gather(*(queue_state(client, queue) for queue in TASK_QUEUES))
    return [
        _check("temporal", True, f"namespace {client.namespace}, history kept for {days} days"),
        _check("search attributes", not missing, attributes),
        *(_examine_workers(queue, state) for queue, state in zip(TASK_QUEUES, states, strict=True)),
    ]


def _examine_workers(queue: str, state: "QueueState") -> dict[str, str]:
    if not state.workers:
        return _check(f"workers on {queue}", False, "none: python worker.py")
    trouble = state.trouble()
    return _check(f"workers on {queue}", trouble is None, trouble or f"{len(state.workers)}")
