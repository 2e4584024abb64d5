"""What a process of its own does for `fascicle up`: the schema, Temporal's set-up, missing workflows.

It takes SQLAlchemy, Temporal's SDK and the sites, which the conductor, who stays as long as the stack does,
need not keep in memory. It talks to the conductor in lines of JSON on stdout; a line on stdin tells it that
the worker is there.
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
from fascicle.runtime.channel_sealing import remove_traces, seal_channels
from fascicle.runtime.correlation_id import correlated
from fascicle.runtime.dependencies import Dependencies
from fascicle.runtime.deployment import make_current, make_unversioned_current
from fascicle.runtime.embedded.postgres import is_own_server
from fascicle.runtime.key_agreement import agree_on_keys
from fascicle.runtime.logs import configure_logs
from fascicle.runtime.setting_names import CORRELATION_VARIABLE
from fascicle.runtime.settings import load_settings
from fascicle.runtime.temporal import connect, keep_history, register_search_attributes
from fascicle.storage.database import upgrade
from starter.context import usable_dependencies
from starter.output import leave
from starter.rebuilding import rebuild
from starter.schedules import ensure_schedules
from starter.temporal_words import refusal

_LOOK_AGAIN_SECONDS = 2.0


def _tell(**what: Any) -> None:
    sys.stdout.buffer.write(orjson.dumps(what) + b"\n")
    sys.stdout.flush()


async def prepare(*, own_temporal: bool, simulator: str | None, shelf: Path) -> None:
    """`own_temporal`: the embedded server, whose settings are ours to make."""
    settings = load_settings()
    async with usable_dependencies(settings) as dependencies:
        await upgrade(dependencies.engine)
        # Of another server there may be workers elsewhere, which would not have a key made here.
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
    if dependencies.settings.worker_versioning:  # it is the only one: there is nobody to hand over from
        await make_current(client, dependencies.settings)
    elif own_temporal:  # switched off again: else nobody would get any work
        await make_unversioned_current(client, MAIN_QUEUE)
    await ensure_schedules(client, dependencies.settings)
    refused: list[str] = []
    await rebuild(dependencies, client, refused=refused)
    for line in refused:
        _tell(warning=f"Temporal does not take {line}")


async def _agree_on_keys(dependencies: Dependencies) -> None:
    """The servers stay up meanwhile: `fascicle payload` in another shell may be what helps."""
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
    from starter.demo import onboard_demo, write_shelf
    from starter.demo_art import ARTIST

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
