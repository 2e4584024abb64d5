"""Two hundred posts due in the same minute on twenty accounts: in order, once, at the accounts' pace.

python -m bench.publish [--posts 200] [--accounts 20] [--interval 3]

The floor is what the gates alone take: a post is four requests, each of which keeps its account's distance.
"""

import argparse
import asyncio
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import text

from bench.command import at_least_one, open_table, run_bench, say
from bench.cpu import CpuMeter, CpuUse, cores
from bench.stack import BenchStack, open_stack
from fascicle.jobs.publishing import post_job
from fascicle.services.publishing.new_post import NewPost, create_post
from fascicle.sites.deviantart.oauth import SITE, TokenPair
from fascicle.storage.database import transaction
from fascicle.storage.publishing import account as accounts
from fascicle.storage.publishing import post as posts
from fascicle.temporal.workflow_start import start_job
from starter.stack.demo_art import picture

_REQUESTS_PER_POST = 4
_PATIENCE = 3.0
"""The longest wait for the posts, as a multiple of the floor."""


@dataclass(frozen=True)
class Published:
    posts: int
    accounts: int
    interval: float
    seconds: float
    once: int
    in_order: int
    """Accounts whose posts were published in the order of their times."""
    closest: float
    """The shortest distance between an upload and a publication of one account."""
    cpu: CpuUse

    @property
    def floor(self) -> float:
        """The shortest time from an account's first request to the last request of its last post."""
        return (self.posts / self.accounts * _REQUESTS_PER_POST - 1) * self.interval


async def measure(count: int, artists: int, interval: float) -> Published:
    say("starting PostgreSQL, Temporal and the simulator")
    async with open_stack() as stack, stack.worker(account_interval_seconds=interval):
        say(f"storing {count} posts on {artists} accounts")
        ids = [await _connect(stack, f"artist{number:02}") for number in range(artists)]
        drafts = await _drafts(stack, ids, count)
        due = datetime.now(UTC) + timedelta(seconds=10 + count / 20)
        await _schedule(stack, drafts, due)
        late = (datetime.now(UTC) - due).total_seconds()
        if late > 0:
            say(f"scheduling took {late:.0f} s longer than planned: the first posts are late")
        await asyncio.sleep(max(0.0, -late))
        say("their minute has come")
        meter, begin = CpuMeter(stack.supervisor.pids), time.time()
        seconds = await _until_out(stack, count, begin, interval, artists)
        return await _judge(stack, drafts, count, artists, interval, seconds, meter.read())


async def _connect(stack: BenchStack, name: str) -> str:
    given = await stack.simulator.deviantart.add_account(name)
    pair = TokenPair(given.access_token, given.refresh_token, given.expires_in)
    async with transaction(stack.dependencies.engine) as connection:
        account_id, _ = await accounts.claim(
            connection, site=SITE, site_user_id=given.userid, name=name, user_id=None
        )
        await accounts.connect(connection, account_id, await stack.dependencies.tokens.seal(account_id, pair))
    return account_id


async def _drafts(stack: BenchStack, ids: list[str], count: int) -> list[tuple[str, str, str]]:
    """Make drafts for the accounts in turn. Returns post, account and title of each."""
    made = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.png"
        for number in range(count):
            await asyncio.to_thread(path.write_bytes, picture(number))
            account, title = ids[number % len(ids)], f"Sheet {number:04}"
            post = await create_post(stack.dependencies, account, NewPost([path], title, {}))
            made.append((post, account, title))
    return made


async def _schedule(stack: BenchStack, drafts: list[tuple[str, str, str]], due: datetime) -> None:
    """Schedule them at slightly different times, in the order of their numbers."""
    for number, (post, account, title) in enumerate(drafts):
        when = due + timedelta(seconds=number / 100)
        async with transaction(stack.dependencies.engine) as connection:
            await posts.schedule(connection, post, when)
        await start_job(stack.client, post_job(post, title=title, account_id=account))


async def _until_out(stack: BenchStack, count: int, begin: float, interval: float, artists: int) -> float:
    limit = 120 + _PATIENCE * count / artists * _REQUESTS_PER_POST * max(interval, 0.5)
    settled = "select count(*) from post where state in ('published', 'failed', 'unconfirmed')"
    while time.time() - begin < limit:
        if await stack.value(settled) == count:
            break
        await asyncio.sleep(0.5)
    return time.time() - begin


async def _judge(
    stack: BenchStack,
    drafts: list[tuple[str, str, str]],
    count: int,
    artists: int,
    interval: float,
    seconds: float,
    cpu: CpuUse,
) -> Published:
    out = await stack.simulator.deviantart.published()
    seen = Counter(deviation.title for deviation in out)
    by_account: dict[str, list[str]] = defaultdict(list)
    moments: dict[str, list[float]] = defaultdict(list)
    for deviation in out:
        by_account[deviation.account].append(deviation.title)
        moments[deviation.account].append(deviation.at)
    for submission in await stack.simulator.deviantart.submissions():
        moments[submission.account].append(submission.at)
    distances = [b - a for times in moments.values() for a, b in pairwise(sorted(times))]
    async with transaction(stack.dependencies.engine) as connection:
        states = await connection.execute(text("select state, count(*) from post group by state"))
        say("states: " + ", ".join(f"{row.count} {row.state}" for row in states))
    return Published(
        posts=count,
        accounts=artists,
        interval=interval,
        seconds=seconds,
        once=sum(seen[title] == 1 for _, _, title in drafts),
        in_order=sum(titles == sorted(titles) for titles in by_account.values()),
        closest=min(distances, default=float("nan")),
        cpu=cpu,
    )


def print_report(done: Published) -> None:
    title = f"{done.posts} posts of one minute on {done.accounts} accounts, one worker, {cores()} cores"
    console, table = open_table(title, width=100)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_row("published exactly once, by the site's log", f"{done.once} of {done.posts}")
    table.add_row("accounts whose posts went out in order", f"{done.in_order} of {done.accounts}")
    table.add_row("distance kept between an account's requests", f"{done.interval:g} s")
    table.add_row("shortest from upload to publication or next upload", f"{done.closest:.1f} s")
    table.add_row("from the minute to the last publication", f"{done.seconds:.0f} s")
    table.add_row("what the gates alone take", f"{done.floor:.0f} s")
    table.add_row("ratio", f"{done.seconds / max(done.floor, 0.1):.2f}")
    console.print(table)
    loads = ", ".join(f"{name} {used / done.seconds:.2f}" for name, used in done.cpu.processes.items())
    console.print(f"CPU, in cores: {loads}; others {done.cpu.others / done.seconds:.2f}.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.publish", description=__doc__)
    parser.add_argument("--posts", type=at_least_one, default=200)
    parser.add_argument("--accounts", type=at_least_one, default=20)
    parser.add_argument("--interval", type=float, default=3.0)
    given = parser.parse_args()

    async def run() -> None:
        print_report(await measure(given.posts, given.accounts, given.interval))

    run_bench(run)


if __name__ == "__main__":
    main()
