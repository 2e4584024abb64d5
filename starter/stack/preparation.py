"""The process that prepares the stack for `fascicle up`: the schema, Temporal's set-up, missing workflows.

It imports SQLAlchemy, Temporal's SDK and the sites, so that the process of `fascicle up`, the conductor, need
not keep them in memory. It reports to the conductor in lines of JSON on stdout; a line on stdin means that
the worker is running.
"""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import orjson
from temporalio.client import Client
from temporalio.service import RPCError

from fascicle.domain.errors import FascicleError, PermanentError
from fascicle.domain.names import MAIN_QUEUE, new_id
from fascicle.embedded.postgres import is_own_server
from fascicle.process.correlation_id import correlated
from fascicle.process.logs import configure_logs
from fascicle.services.dependencies import Dependencies
from fascicle.services.notifications.channel_sealing import remove_traces, seal_channels
from fascicle.services.operations.missing_workflows import rebuild
from fascicle.services.operations.schedules import ensure_schedules
from fascicle.settings.setting_names import CORRELATION_VARIABLE
from fascicle.settings.settings import load_settings
from fascicle.storage.database import upgrade
from fascicle.temporal.client import connect, keep_history, register_search_attributes
from fascicle.temporal.deployment import make_current, make_unversioned_current
from fascicle.temporal.key_agreement import agree_on_keys
from starter.context import usable_dependencies
from starter.output import leave
from starter.temporal_words import refusal

_LOOK_AGAIN_SECONDS = 2.0


def _tell(**what: Any) -> None:
    sys.stdout.buffer.write(orjson.dumps(what) + b"\n")
    sys.stdout.flush()


async def prepare(*, own_temporal: bool, simulator: str | None, shelf: Path) -> None:
    """`own_temporal`: the embedded server, whose settings we may change."""
    settings = load_settings()
    async with usable_dependencies(settings) as dependencies:
        await upgrade(dependencies.engine)
        # Workers on other machines may use another server, and would not have a key created here.
        own_server = is_own_server(settings.database_url, settings.data_dir)
        await seal_channels(dependencies.engine, dependencies.vault, make_key=own_server)
        await remove_traces(dependencies.engine, own_server=own_server)
        _tell(step="schema")
        await _agree_on_keys(dependencies)
        client = await connect(settings.payload)
        await register_search_attributes(client)
        if own_temporal:
            await keep_history(client, settings.history_days)
        _tell(step="worker")
        if not await asyncio.to_thread(sys.stdin.readline):  # the conductor is gone
            return
        await _finish(dependencies, client, own_temporal=own_temporal)
        _tell(step="stack")
        if simulator is not None:
            await _show_demo(dependencies, client, simulator, shelf)


async def _finish(dependencies: Dependencies, client: Client, *, own_temporal: bool) -> None:
    if dependencies.settings.worker_versioning:  # the only worker: no other version has to hand over to it
        await make_current(client, dependencies.settings)
    elif own_temporal:  # versioning may have been on before: without this no worker would get work
        await make_unversioned_current(client, MAIN_QUEUE)
    await ensure_schedules(client, dependencies.settings)
    refused: list[str] = []
    await rebuild(dependencies, client, refused=refused)
    for line in refused:
        _tell(warning=f"Temporal does not take {line}")


async def _agree_on_keys(dependencies: Dependencies) -> None:
    """Repeat while the keys do not fit. The servers stay up: `fascicle payload` may be needed to fix it."""
    told = ""
    while True:
        try:
            return await agree_on_keys(dependencies.engine, dependencies.settings.payload)
        except PermanentError as error:
            if error.message != told:
                told = error.message
                _tell(waiting=told)
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def _show_demo(dependencies: Dependencies, client: Client, simulator: str, shelf: Path) -> None:
    from starter.stack.demo import onboard_demo, write_shelf
    from starter.stack.demo_art import ARTIST

    _tell(series=await onboard_demo(dependencies, client, simulator), artist=ARTIST)
    _tell(shelved=await write_shelf(simulator, shelf))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--own-temporal", action="store_true")
    parser.add_argument("--simulator")
    parser.add_argument("--shelf", type=Path, required=True)
    wanted = parser.parse_args()
    configure_logs("ERROR", "console")
    code = 0
    try:
        with correlated(os.environ.get(CORRELATION_VARIABLE) or new_id()):
            asyncio.run(
                prepare(own_temporal=wanted.own_temporal, simulator=wanted.simulator, shelf=wanted.shelf)
            )
    except FascicleError as error:
        _tell(error=error.code, message=error.message)
        code = 1
    except RPCError as error:
        _tell(error="temporal_refused", message=refusal(error))
        code = 1
    leave(code)


if __name__ == "__main__":
    main()
