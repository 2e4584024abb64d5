"""What came of an experiment with requests: how each ended, who was told, and what the upstreams that cost
say about who asked them what, and when."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from simulator.llm.records import LlmCall
from tests.harness import Harness

_REQUESTS = """
select r.id, r.status, r.round, count(s.request_id) as summaries from request r
left join summary s on s.request_id = r.id group by r.id order by r.id"""
_TOLD = """
select substring(n.job_key from '^request-(.*)$') as id, n.event, d.state,
  exists (select 1 from dead_letter l where l.kind = 'deliver' and l.job_key = d.id::text) as has_letter
from notice n join delivery d on d.notice_id = n.id"""
_CALLS = """
select request_id, step, state, content, tokens, cost, extract(epoch from ended_at)::float8 as ended
from llm_call order by id"""
_ARTICLES = "select request_id, extract(epoch from created_at)::float8 as kept from request_article"
_ID = re.compile(r"r\d{4}")


@dataclass(frozen=True)
class Fate:
    """What became of a request."""

    status: str
    summaries: int
    workflows: tuple[str, ...]
    told: tuple[tuple[str, str, bool], ...]
    """Events, the states of their messages, and whether a person is asked about them."""
    messages: int


@dataclass(frozen=True)
class RequestBooks:
    fates: dict[str, Fate]
    repeated: list[str]
    """What was asked, and paid, for again although the answer had been kept."""
    calls: Counter[str]
    """Questions by what our books say became of them."""
    questions: int
    """Different ones; and the calls that they were, and what had to be fetched, by the upstreams' ledgers."""
    paid_calls: int
    scrapes: int
    fetches: int
    uncounted: list[str]
    """Requests that cost more than our books say."""


async def read_request_books(harness: Harness) -> RequestBooks:
    ledger = [call for call in harness.simulator.llm.calls() if call.paid]
    rows = await harness.rows(_CALLS)
    kept = {row["request_id"]: row["kept"] for row in await harness.rows(_ARTICLES)}
    scrapes = [(_id(call.url), call.received_at) for call in harness.simulator.firecrawl.calls()]
    pages = [(_id(entry.path), entry.at) for entry in harness.simulator.requests.matching("/press/")]
    return RequestBooks(
        fates=await _fates(harness),
        repeated=[*_asked_again(ledger, rows), *_fetched_again([*scrapes, *pages], kept)],
        calls=Counter(row["state"] for row in rows),
        questions=len({call.messages_sha256 for call in ledger}),
        paid_calls=len(ledger),
        scrapes=len(scrapes),
        fetches=len(pages),
        uncounted=list(_uncounted(ledger, rows)),
    )


async def _fates(harness: Harness) -> dict[str, Fate]:
    told: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for row in await harness.rows(_TOLD):
        told[row["id"]].append((row["event"], row["state"], row["has_letter"]))
    workflows = await _workflows(harness)
    return {
        row["id"]: Fate(
            status=row["status"],
            summaries=row["summaries"],
            workflows=tuple(workflows[f"request-{row['id']}"]),
            told=tuple(told[row["id"]]),
            messages=len(harness.simulator.sink.messages(row["id"])),
        )
        for row in await harness.rows(_REQUESTS)
    }


async def _workflows(harness: Harness) -> dict[str, list[str]]:
    """How each run of each request's workflow ended."""
    runs: dict[str, list[str]] = defaultdict(list)
    async for execution in harness.client.list_workflows("WorkflowType = 'SummarizeWorkflow'"):
        assert execution.status is not None
        runs[execution.id].append(execution.status.name)
    return runs


def _asked_again(ledger: Iterable[LlmCall], rows: list[dict[str, Any]]) -> Iterator[str]:
    """A question is known by its messages; its answer in our books by what it says."""
    questions: dict[str, list[LlmCall]] = defaultdict(list)
    for call in ledger:
        questions[call.messages_sha256].append(call)
    for calls in questions.values():
        request_id = _id(calls[0].messages)
        contents = {call.content for call in calls}
        own = [row for row in rows if row["request_id"] == request_id]
        stored = [row for row in own if row["state"] == "answered" and row["content"] in contents]
        if len(stored) != 1:
            yield f"{request_id}: {len(stored)} answers kept of a question asked {len(calls)} times"
            continue
        step, at = stored[0]["step"], stored[0]["ended"]
        lost = [row for row in own if row["step"] == step and row["state"] in ("lost", "failed")]
        if any(call.received_at > at for call in calls) or len(calls) > 1 + len(lost):
            yield f"{request_id} {step}: asked {len(calls)} times, {len(lost)} answers were lost"


def _fetched_again(fetches: Iterable[tuple[str, float]], kept: dict[str, float]) -> Iterator[str]:
    for request_id, at in fetches:
        if request_id in kept and at > kept[request_id]:
            yield f"{request_id}: its page was fetched after its article had been kept"


def _uncounted(ledger: Iterable[LlmCall], rows: list[dict[str, Any]]) -> Iterator[str]:
    """What was lost counts with what it may have cost, so that our sums are never too low."""
    tokens: Counter[str] = Counter()
    cost: dict[str, float] = defaultdict(float)
    for row in rows:
        tokens[row["request_id"]] += row["tokens"]
        cost[row["request_id"]] += float(row["cost"])
    for call in ledger:
        tokens[_id(call.messages)] -= call.prompt_tokens + call.completion_tokens
        cost[_id(call.messages)] -= call.cost
    for request_id in cost:
        if tokens[request_id] < 0 or cost[request_id] < -1e-9:
            yield f"{request_id}: {-tokens[request_id]} tokens, {-cost[request_id]:.6f} too little"


def _id(text: str) -> str:
    """Every page has its request's id in its title and its address."""
    found = _ID.search(text)
    assert found is not None, text[:500]
    return found.group()


async def nothing_is_open(harness: Harness) -> bool:
    if await harness.value(
        """select (select count(*) from request where status in ('pending', 'running'))
                + (select count(*) from delivery where state in ('pending', 'sending'))"""
    ):
        return False
    running = "WorkflowType = 'SummarizeWorkflow' AND ExecutionStatus = 'Running'"
    return not [execution async for execution in harness.client.list_workflows(running)]
