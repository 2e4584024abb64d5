"""Posts on their way out while answers are broken and the worker is killed, at every step of the way.

A round publishes a handful of posts at once; each misfortune of the round strikes whichever post comes by
first. The simulator's log is the judge of what was really published.
"""

import asyncio
import base64
import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle, product
from random import Random
from typing import Any

from fascicle.domain.names import MAIN_QUEUE, new_id
from fascicle.services.publishing.account_connection import wake_posts
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post as posts
from simulator.faults import ArmedFault, Fault
from tests.harness import Harness, eventually
from tests.publishing import GALLERY, PLACEBO, PUBLISH, SUBMIT, TOKEN, connect_account, scheduled
from tests.starter.forked_workers import ForkedWorker, ForkedWorkers
from tests.starter.services import Site
from tests.vaults import TOKEN_KEY

STEPS = {"token": TOKEN, "check": PLACEBO, "upload": SUBMIT, "gallery": GALLERY, "publish": PUBLISH}
EDGE = {"status": 403, "body": "<html>no</html>", "headers": {"content-type": "text/html"}}
ANSWERS: dict[str, dict[str, Any]] = {
    "reset before": {"kind": "reset"},
    "reset after": {"kind": "reset", "takes_effect": True},
    "500 before": {"status": 500},
    "500 half-way": {"status": 500, "takes_effect": True},
    "empty 200": {"status": 200, "body": "", "takes_effect": True},
    "page for JSON": {"kind": "html", "takes_effect": True},
    "half an answer": {"kind": "truncated"},
    "no answer in time": {"kind": "delay", "delay_after": 4.0},
    "429": {"status": 429},
    "403 from the edge": EDGE,
    "401": {"status": 401},
    "code 6": {"status": 400, "body": '{"error":"invalid_request","error_code":6,"status":"error"}'},
}
DEATHS: dict[str, dict[str, Any]] = {
    "killed before": {"hold": "before"},
    "killed after": {"hold": "after"},
    "killed, took effect later": {"hold": "before", "late": True, "hold_seconds": 2.0},
}
ROUND_SECONDS = 180

# As the defaults, only faster; a call without an answer is given up after two seconds.
SETTINGS = {
    "publish_look_seconds": [0.5, 0.5, 1.0],
    "publish_retry_seconds": 0.1,
    "publish_timeout_seconds": 2,
    "http_timeout_seconds": 2,
    "publish_concurrency": 16,
    "account_breaker_seconds": 1,
}


@dataclass
class Run:
    """A post and what became of it: its state here, and how often the judge saw it."""

    post_id: str
    title: str
    files: int
    state: str = ""
    published: int = 0


@dataclass
class PublishReport:
    runs: list[Run] = field(default_factory=list)
    struck: Counter[tuple[str, str]] = field(default_factory=Counter)
    kills: int = 0
    reconnected: int = 0
    retried: int = 0
    tokens: int = 0
    leaks: list[str] = field(default_factory=list)
    """Places where a token can be read."""

    def summary(self) -> str:
        states = Counter(run.state for run in self.runs)
        out = Counter((run.state, f"{run.published} of {run.files} out") for run in self.runs)
        lines = [
            f"{len(self.runs)} posts: {dict(states)}; {self.kills} kills, "
            f"{self.reconnected} accounts connected again, {self.retried} posts tried again by a person",
            f"{self.tokens} tokens looked for in histories, logs and tables: {len(self.leaks)} found",
            *(f"  {state}, {how}: {count}" for (state, how), count in sorted(out.items())),
            *(f"  {step}: {what}: {hits}" for (step, what), hits in sorted(self.struck.items())),
        ]
        return "\n".join(lines)


class PublishExperiment:
    def __init__(self, site: Site, workers: ForkedWorkers, *, posts: int, per_round: int, seed: int) -> None:
        self._site = site
        self._workers = workers
        self._harness: Harness = site.harness
        self._posts = posts
        self._per_round = per_round
        self._random = Random(seed)
        self._report = PublishReport()
        deaths = list(product(STEPS, DEATHS))
        answers = list(product(STEPS, ANSWERS))
        self._random.shuffle(deaths)
        self._random.shuffle(answers)
        # Every misfortune at every step comes up before one comes up again.
        self._deaths, self._answers = cycle(deaths), cycle(answers)

    async def run(self) -> PublishReport:
        while len(self._report.runs) < self._posts:
            await self._round(min(self._per_round, self._posts - len(self._report.runs)))
        await self._judge()
        return self._report

    async def _round(self, size: int) -> None:
        death = next(self._deaths)
        answers = [next(self._answers) for _ in range(size // 2)]
        runs = [await self._post(number) for number in range(size)]
        armed = self._arm(death, answers)
        async with self._start_worker() as worker:
            await self._site.until_ready()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(20):
                    while not armed[death].report().held:
                        await asyncio.sleep(0.02)
                    worker.kill()
                    self._report.kills += 1
        async with self._start_worker():
            await self._until_settled(runs)
        self._count(armed)
        self._harness.simulator.faults.clear()
        self._report.runs += runs

    def _start_worker(self) -> ForkedWorker:
        return self._workers.start(self._site.folder, self._site.env)

    async def _post(self, number: int) -> Run:
        """On an account of its own, or after another post of the same account; sometimes of two files."""
        place = len(self._report.runs) + number
        files = 2 if place % 7 == 3 else 1
        title = f"Sheet {place}"
        account = await connect_account(self._harness, f"artist{place - place % 3}")
        # So that the token must be renewed on the way.
        await self._harness.execute("update account set access_expires_at = now() where id = :id", id=account)
        return Run(await scheduled(self._harness, account, title, files=files), title, files)

    def _arm(
        self, death: tuple[str, str], answers: list[tuple[str, str]]
    ) -> dict[tuple[str, str], ArmedFault]:
        faults = self._harness.simulator.faults
        step, how = death
        armed = {death: faults.add(Fault(path=STEPS[step], kind="hold", count=1, **DEATHS[how]))}
        for step, what in answers:
            skip = self._random.randrange(3)
            armed[step, what] = faults.add(Fault(path=STEPS[step], count=1, skip=skip, **ANSWERS[what]))
        return armed

    def _count(self, armed: dict[tuple[str, str], ArmedFault]) -> None:
        self._report.struck.update({name: fault.report().hits for name, fault in armed.items()})

    async def _until_settled(self, runs: list[Run]) -> None:
        async def settled() -> bool:
            await self._do_what_people_do()
            states = [await self._state(run) for run in runs]
            return all(state in ("published", "unconfirmed") for state in states)

        try:
            await eventually(settled, within=ROUND_SECONDS, what="all posts of a round")
        except AssertionError as error:
            stuck = await self._harness.rows(
                """select p.title, p.state, p.attempts, p.waiting_for, p.last_error, p.due_at, p.planned_for,
                     a.paused_reason, f.submits, f.intents, f.intent_at, f.unclear
                   from post p join account a on a.id = p.account_id join post_file f on f.post_id = p.id
                   where p.state not in ('published', 'unconfirmed')"""
            )
            raise AssertionError("\n".join(str(row) for row in stuck)) from error

    async def _do_what_people_do(self) -> None:
        """Connect accounts whose token was lost, try again what failed; and the Schedule's reconciliation."""
        for row in await self._harness.rows("select name from account where paused_at is not null"):
            account = await connect_account(self._harness, row["name"])
            await wake_posts(self._harness.dependencies, self._harness.client, account)
            self._report.reconnected += 1
        for row in await self._harness.rows("select id from post where state = 'failed'"):
            async with transaction(self._harness.dependencies.engine) as connection:
                await posts.retry(connection, row["id"], datetime.now(UTC))
            self._report.retried += 1
        await self._harness.client.execute_workflow(
            "ReconcileWorkflow", id=f"reconcile-{new_id()}", task_queue=MAIN_QUEUE
        )
        await asyncio.sleep(0.5)

    async def _state(self, run: Run) -> str:
        return str(await self._harness.value("select state from post where id = :id", id=run.post_id))

    async def _judge(self) -> None:
        await asyncio.sleep(3)  # what was held to take effect later has done so by now
        seen = Counter(deviation.title for deviation in self._harness.simulator.deviantart.published())
        for run in self._report.runs:
            run.state = await self._state(run)
            run.published = seen[run.title]
        await self._look_for_tokens()

    async def _look_for_tokens(self) -> None:
        """In every history, in all that the workers logged, in every row (X5)."""
        saved = self._harness.simulator.deviantart.saved
        tokens = {*saved.access_tokens, *saved.refresh_tokens, *saved.spent_tokens}
        secrets = tokens | {saved.options.client_secret, TOKEN_KEY.partition(":")[2]}
        self._report.tokens = len(secrets)
        places = {"the log": (self._site.folder / "worker.log").read_text()}
        async for execution in self._harness.client.list_workflows():
            history = await self._harness.client.get_workflow_handle(
                execution.id, run_id=execution.run_id
            ).fetch_history()
            places[execution.id] = "".join(_texts(history.to_json_dict()))
        for table in ("account", "post", "post_file", "post_event", "mail", "gate", "dead_letter"):
            rows = await self._harness.rows(f"select to_jsonb(t)::text as row from {table} t")
            places[table] = "".join(row["row"] for row in rows)
        self._report.leaks = [place for place, said in places.items() if any(s in said for s in secrets)]


def _texts(value: Any) -> Iterator[str]:
    """All that a history says; payloads are in base64 there."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield f"{value}\n"
        with contextlib.suppress(ValueError):
            yield base64.b64decode(value, validate=True).decode("utf-8", "replace")
