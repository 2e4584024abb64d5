"""Five hundred people who ask for one fic at once: one reading, each told once (F1, F5).

python -m bench.fic_crowd [--people 500]

The limit is what Apprise and the sink alone take for as many messages, in the same run.
"""

import argparse
import asyncio
import time
from collections import Counter
from dataclasses import dataclass

from sqlalchemy import text

from bench.command import at_least_one, open_table, run_bench, say
from bench.stack import BenchStack, open_stack
from fascicle.services.fics.fic_queue import open_desk
from fascicle.services.notifications.message import Message
from fascicle.storage.database import transaction
from fascicle.storage.notifications.channel import add_channel
from simulator.ao3.records import WorkSpec
from simulator.faults import Fault

_PATIENCE_SECONDS = 300.0


@dataclass(frozen=True)
class Crowd:
    people: int
    entering: float
    """Seconds until everybody was entered in the queue."""
    telling: float
    """Seconds from the archive's answer until the last person was notified."""
    limit: float
    """Seconds that sending as many messages takes alone."""
    requests: int
    told_once: int


async def measure(people: int) -> Crowd:
    say("starting PostgreSQL, Temporal, the simulator and a worker")
    async with open_stack() as stack, stack.worker():
        names = [f"reader-{number:03}" for number in range(people)]
        simulator = stack.dependencies.settings.ao3_url.removesuffix("/ao3")
        sink = simulator.replace("http://", "json://") + "/sink"
        await _add_readers(stack, names, sink)
        work = await stack.simulator.add_work(WorkSpec(title="Popular"))
        hold = await stack.simulator.add_fault(Fault(kind="hold", hold="before", path="/ao3/works", count=1))
        desk, url = (
            open_desk(stack.dependencies, stack.client),
            f"https://archiveofourown.org/works/{work.id}",
        )
        say(f"{people} people ask")
        began = time.monotonic()
        await asyncio.gather(*(desk.add(url, name, wait_seconds=0) for name in names))
        entering = time.monotonic() - began
        await stack.simulator.wait_until_held(hold.id)
        await stack.simulator.release_held(hold.id)
        say("the archive answers")
        began = time.monotonic()
        await _until_told(stack, people)
        telling = time.monotonic() - began
        told = Counter(message.name for message in await stack.simulator.sink())
        requests = await stack.simulator.requests("/ao3/")
        limit = await _sending_alone(stack, people, f"{sink}/limit")
        once = sum(told[name] == 1 for name in names)
        return Crowd(people, entering, telling, limit, len(requests), once)


async def _add_readers(stack: BenchStack, names: list[str], sink: str) -> None:
    async with transaction(stack.dependencies.engine) as connection:
        await connection.execute(
            text("""insert into app_user (id, name) select n, n from unnest(cast(:names as text[])) as n"""),
            {"names": names},
        )
        for name in names:
            await add_channel(connection, stack.dependencies.vault, name, f"{sink}/{name}")


async def _until_told(stack: BenchStack, people: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if await stack.value("select count(*) from delivery where state = 'sent'") >= people:
            return
        await asyncio.sleep(0.1)


async def _sending_alone(stack: BenchStack, people: int, url: str) -> float:
    notifier = stack.dependencies.notifier
    began = time.monotonic()
    await asyncio.gather(*(notifier.send(url, Message("title", "body")) for _ in range(people)))
    return time.monotonic() - began


def print_crowd(crowd: Crowd) -> None:
    console, table = open_table(f"{crowd.people} people ask for one fic at once")
    for column in ("what", "", "against"):
        table.add_column(column, justify="left" if column == "what" else "right")
    table.add_row(
        "everybody entered", f"{crowd.entering:.1f} s", f"{crowd.people / crowd.entering:.0f} a second"
    )
    table.add_row("requests to the archive", str(crowd.requests), "1")
    table.add_row("told exactly once", str(crowd.told_once), str(crowd.people))
    table.add_row(
        "everybody told", f"{crowd.telling:.1f} s", f"{crowd.telling / crowd.limit:.2f} × sending alone"
    )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=at_least_one, default=500)
    people = parser.parse_args().people

    async def bench() -> None:
        print_crowd(await measure(people))

    run_bench(bench)


if __name__ == "__main__":
    main()
