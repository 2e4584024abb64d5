"""A thousand requests in line for five slots, and several workers: never more than five at once (R6).

python -m bench.request_queue [--requests 1000] [--cap 5] [--workers 2] [--latency 0.5]

The limit is what the slots alone allow: as many at once as the cap says, each taking as long as one that has
the whole stack to itself, measured before in the same run. Exits with 1 if the cap was exceeded, or if a
request did not succeed.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median

from sqlalchemy import text

from bench.command import at_least_one, open_table, run_bench, say
from bench.cpu import CpuMeter, CpuUse, cores
from bench.stack import BenchStack, open_stack
from fascicle.domain.summaries.request import Asked
from fascicle.services.summaries.requests import open_request_desk
from fascicle.storage.database import transaction
from simulator.press import ArticleSpec

_ALONE = 20
_SUBMITTED_AT_ONCE = 20
_LOOK_SECONDS = 0.02
_PATIENCE = 6.0
"""The longest wait for the requests, as a multiple of the limit."""

_NOTES = """\
The limit: the cap divided by the seconds that a request holds its slot when there is no other, the median of
twenty that were asked for one after another. The model alone: the cap divided by its latency, as if pages
were fetched, answers kept and slots handed on in no time. From the first slot taken to the last one given
back; the line was there before the workers. At once: the database was looked at every {look:.0f} ms, the
model's own ledger counts every question."""


@dataclass(frozen=True)
class Watch:
    seconds: float
    looks: int
    most_running: int
    mean_running: float


@dataclass(frozen=True)
class Queue:
    requests: int
    cap: int
    workers: int
    latency: float
    alone: float
    """Seconds that a request holds its slot when there is no other."""
    watch: Watch
    seconds: float
    succeeded: int
    most_asked: int
    """The most questions that the model had at once."""
    questions: int
    cpu: CpuUse

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def limit(self) -> float:
        return self.cap / self.alone

    @property
    def most(self) -> int:
        return max(self.watch.most_running, self.most_asked)


async def measure(requests: int, cap: int, workers: int, latency: float) -> Queue:
    say("starting PostgreSQL, Temporal, the simulator and a worker")
    async with open_stack() as stack:
        await stack.simulator.llm.configure(latency=latency)
        async with _workers(stack, cap, 1):
            say(f"{_ALONE} requests, one after another")
            alone = await _alone(stack)
        say(f"{requests} requests queue up")
        await _submit(stack, [f"In line {number:04}" for number in range(requests)])
        await stack.simulator.llm.clear()
        await stack.simulator.llm.configure(latency=latency)
        async with _workers(stack, cap, workers):
            say(f"{workers} workers begin")
            meter = CpuMeter(stack.supervisor.pids)
            watch = await _watch(stack, longest=60 + _PATIENCE * requests * alone / cap)
            cpu = meter.read()
        tally = await stack.simulator.llm.tally()
        return Queue(
            requests=requests,
            cap=cap,
            workers=workers,
            latency=latency,
            alone=alone,
            watch=watch,
            seconds=await _seconds(stack),
            succeeded=await stack.value(
                f"select count(*) from request where {_IN_LINE} and status = 'succeeded'"
            ),
            most_asked=tally.most_at_once,
            questions=tally.calls,
            cpu=cpu,
        )


_IN_LINE = "url like '%/in-line-%'"


@asynccontextmanager
async def _workers(stack: BenchStack, cap: int, count: int) -> AsyncIterator[None]:
    settings = {
        "request_concurrency": cap,
        "llm_url": f"{stack.simulator_url}/llm/v1",
        "llm_api_key": "sk-bench",
        "llm_models": "sim/one",
        "llm_daily_tokens": 0,
        # All pages are on one host, and no distance between requests is wanted here.
        "article_interval_seconds": 0,
    }
    async with AsyncExitStack() as running:
        for number in range(count):
            await running.enter_async_context(stack.worker(f"worker-{number + 1}", **settings))
        yield


async def _submit(stack: BenchStack, titles: list[str], *, wait_seconds: float = 0) -> None:
    desk = open_request_desk(stack.dependencies, stack.client)
    turns = asyncio.Semaphore(_SUBMITTED_AT_ONCE)

    async def submit(title: str) -> None:
        async with turns:
            article = await stack.simulator.press.add(ArticleSpec(title=title, words=300))
            url = f"{stack.simulator_url}{article.path}"
            await desk.submit(Asked(url=url, wait_seconds=wait_seconds))

    await asyncio.gather(*map(submit, titles))


async def _alone(stack: BenchStack) -> float:
    for number in range(_ALONE):
        await _submit(stack, [f"Alone {number:02}"], wait_seconds=60)
    async with transaction(stack.dependencies.engine) as connection:
        rows = await connection.execute(
            text("select extract(epoch from finished_at - started_at)::float8 from request")
        )
        return float(median(rows.scalars()))


async def _watch(stack: BenchStack, *, longest: float) -> Watch:
    """Watch the slots until the queue is empty."""
    began, seen = time.monotonic(), [0]
    counts = """select count(*) filter (where status = 'running') as running, count(*) as open
                from request where status in ('pending', 'running')"""
    while time.monotonic() - began < longest:
        async with transaction(stack.dependencies.engine) as connection:
            now = (await connection.execute(text(counts))).one()
        seen.append(now.running)
        if not now.open:
            break
        await asyncio.sleep(_LOOK_SECONDS)
    return Watch(time.monotonic() - began, len(seen), max(seen), sum(seen) / len(seen))


async def _seconds(stack: BenchStack) -> float:
    took: float | None = await stack.value(
        f"""select extract(epoch from max(finished_at) - min(started_at))::float8
            from request where {_IN_LINE}"""
    )
    return took or float("inf")


def print_queue(queue: Queue) -> None:
    title = (
        f"{queue.requests} requests in line for {queue.cap} slots, {queue.workers} workers, {cores()} cores"
    )
    console, table = open_table(title)
    for column in ("what", "", "against"):
        table.add_column(column, justify="left" if column == "what" else "right")
    watch = queue.watch
    rows = [
        ("succeeded", str(queue.succeeded), str(queue.requests)),
        ("questions to the model", str(queue.questions), f"{queue.requests}: one each"),
        ("most at once, by the database", str(watch.most_running), f"{queue.cap} ({watch.looks:,} looks)"),
        ("most at once, by the model's ledger", str(queue.most_asked), str(queue.cap)),
        ("slots in use, on average", f"{watch.mean_running:.1f}", str(queue.cap)),
        ("requests per second", f"{queue.rate:.2f}", f"{queue.limit:.2f}: the limit"),
        ("  of the limit", f"{queue.rate / queue.limit:.0%}", f"{queue.alone * 1000:.0f} ms a request alone"),
        (
            "  of the model alone",
            f"{queue.rate * queue.latency / queue.cap:.0%}" if queue.latency else "-",
            f"{queue.latency * 1000:.0f} ms an answer",
        ),
    ]
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(_NOTES.format(look=_LOOK_SECONDS * 1000))
    loads = ", ".join(f"{name} {used / watch.seconds:.2f}" for name, used in queue.cpu.processes.items())
    console.print(f"CPU, in cores: {loads}; others {queue.cpu.others / watch.seconds:.2f}.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=at_least_one, default=1000)
    parser.add_argument("--cap", type=at_least_one, default=5)
    parser.add_argument("--workers", type=at_least_one, default=2)
    parser.add_argument("--latency", type=float, default=0.5, help="of the simulated model, in seconds")
    given = parser.parse_args()

    async def bench() -> None:
        queue = await measure(given.requests, given.cap, given.workers, given.latency)
        print_queue(queue)
        if queue.most > queue.cap:
            raise SystemExit(f"{queue.most} at once: the cap of {queue.cap} was exceeded")
        if queue.succeeded < queue.requests:
            raise SystemExit(f"only {queue.succeeded} of {queue.requests} succeeded")

    run_bench(bench)


if __name__ == "__main__":
    main()
