"""The results of a request's stages: article, answers, summary (R3: each is paid for once)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import orjson

from fascicle.domain.summaries.article import Article
from fascicle.domain.summaries.request import RequestStatus, RequestView
from fascicle.domain.summaries.summary import Method, StoredSummary, Summary, label_of
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_ARTICLE = ("url", "title", "text", "language", "author", "site_name", "published_at", "extractor")
# Any constant will do: the lock lets only one call at a time read the day's sum and add to it.
_BUDGET_LOCK = 7_203_116


async def keep_article(connection: AsyncConnection, request_id: str, article: Article) -> None:
    """The first article stays: a worker that was declared dead and comes back late changes nothing."""
    columns = ", ".join(_ARTICLE)
    values = ", ".join(f":{name}" for name in _ARTICLE)
    await connection.execute(
        text(f"""insert into request_article (request_id, {columns}, words)
                 values (:request_id, {values}, :words) on conflict (request_id) do nothing"""),
        {"request_id": request_id, "words": article.words} | {n: getattr(article, n) for n in _ARTICLE},
    )


async def article(connection: AsyncConnection, request_id: str) -> Article | None:
    rows = await connection.execute(
        text(f"select {', '.join(_ARTICLE)} from request_article where request_id = :id"), {"id": request_id}
    )
    row = rows.mappings().first()
    return None if row is None else Article.model_validate(dict(row))


async def has_article(connection: AsyncConnection, request_id: str) -> bool:
    return bool(
        await connection.scalar(
            text("select exists (select 1 from request_article where request_id = :id)"), {"id": request_id}
        )
    )


async def answers(connection: AsyncConnection, request_id: str) -> dict[str, dict[str, Any]]:
    """The stored answers, by step."""
    rows = await connection.execute(
        text("""select step, model, content from llm_call
                where request_id = :id and state = 'answered' and content is not null"""),
        {"id": request_id},
    )
    return {row["step"]: dict(row) for row in rows.mappings()}


async def reserve(
    connection: AsyncConnection,
    request_id: str,
    step: str,
    model: str,
    *,
    tokens: int,
    cost: Decimal,
    most_tokens: int | None,
    most_cost: Decimal | None,
    now: datetime,
) -> int | None:
    """Note a call before it is made, with its highest cost. None: the day's budget does not allow it.

    Days are in UTC; calls whose answer was lost count in full.
    """
    await connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _BUDGET_LOCK})
    await connection.execute(
        text("""update llm_call set state = 'lost', ended_at = :now
                where request_id = :id and step = :step and state = 'open'"""),
        {"id": request_id, "step": step, "now": now},
    )
    call_id: int | None = await connection.scalar(
        text("""with call as (
                  select cast(:tokens as integer) as tokens, cast(:cost as numeric) as cost,
                    cast(:now as timestamptz) as started_at
                ), day as (
                  select coalesce(sum(tokens), 0) as tokens, coalesce(sum(cost), 0) as cost from llm_call
                  where started_at >= date_trunc('day', cast(:now as timestamptz), 'UTC'))
                insert into llm_call (request_id, step, model, tokens, cost, started_at)
                select :id, :step, :model, call.tokens, call.cost, call.started_at from call, day
                where (cast(:most_tokens as bigint) is null or day.tokens + call.tokens <= :most_tokens)
                  and (cast(:most_cost as numeric) is null or day.cost + call.cost <= :most_cost)
                returning id"""),
        {"id": request_id, "step": step, "model": model, "tokens": tokens, "cost": cost}
        | {"most_tokens": most_tokens, "most_cost": most_cost, "now": now},
    )
    return call_id


async def keep_answer(
    connection: AsyncConnection,
    call_id: int,
    *,
    model: str,
    content: str,
    tokens: int,
    cost: Decimal,
    error_code: str | None,
    now: datetime,
) -> None:
    """Store an answer and its cost. Of two answers to one step only the first is used, and an unusable one
    (`error_code`) is not; the cost of each counts."""
    await connection.execute(
        text("""update llm_call c set model = :model, tokens = :tokens, cost = :cost, content = :content,
                  ended_at = :now, error_code = cast(:error_code as text),
                  state = case when cast(:error_code as text) is not null or exists (
                    select 1 from llm_call o where o.request_id = c.request_id and o.step = c.step
                      and o.state = 'answered') then 'rejected' else 'answered' end
                where id = :id"""),
        {"id": call_id, "model": model, "content": content, "tokens": tokens, "cost": cost, "now": now}
        | {"error_code": error_code},
    )


async def call_failed(
    connection: AsyncConnection, call_id: int, code: str, *, paid: bool, now: datetime
) -> None:
    """`paid`: the model may have answered, so the cost counts; if not, the call failed before that."""
    await connection.execute(
        text("""update llm_call set state = 'failed', error_code = :code, ended_at = :now,
                  tokens = case when :paid then tokens else 0 end, cost = case when :paid then cost else 0 end
                where id = :id and state in ('open', 'lost')"""),
        {"id": call_id, "code": code, "paid": paid, "now": now},
    )


async def keep_extract(connection: AsyncConnection, request_id: str, content: str, now: datetime) -> None:
    """Store the extractive draft, which costs nothing."""
    await connection.execute(
        text("""insert into llm_call (request_id, step, state, tokens, cost, content, started_at, ended_at)
                values (:id, 'summary', 'answered', 0, 0, :content, :now, :now)
                on conflict (request_id, step) where state = 'answered' do nothing"""),
        {"id": request_id, "content": content, "now": now},
    )


async def reject(connection: AsyncConnection, request_id: str, steps: Sequence[str]) -> None:
    """Reject answers that were no summaries, so that a retry asks the model again."""
    await connection.execute(
        text("""update llm_call set state = 'rejected'
                where request_id = :id and step = any(cast(:steps as text[])) and state = 'answered'"""),
        {"id": request_id, "steps": list(steps)},
    )


async def keep_summary(
    connection: AsyncConnection,
    row: dict[str, Any],
    *,
    title: str,
    method: Method,
    model: str | None,
    summary: Summary,
    now: datetime,
) -> None:
    await connection.execute(
        text("""insert into summary (request_id, url_hash, url, title, method, model, document, created_at)
                values (:id, :hash, :url, :title, :method, :model, cast(:document as jsonb), :now)
                on conflict (request_id) do update set title = excluded.title, method = excluded.method,
                  model = excluded.model, document = excluded.document, created_at = excluded.created_at"""),
        {"id": row["id"], "hash": row["url_hash"], "url": row["url"], "title": title, "method": method}
        | {"model": model, "document": orjson.dumps(summary.model_dump(mode="json")).decode(), "now": now},
    )


_VIEW = """
select r.id, r.url, r.status, r.stage, r.progress, r.waiting_for, r.not_before, r.correlation_id,
  r.item_id, r.attempts, r.error, r.created_at, r.started_at, r.finished_at,
  'request-' || r.id as workflow_id, coalesce(a.title, s.title) as title, a.extractor,
  coalesce(paid.tokens, 0) as tokens, coalesce(paid.cost, 0)::float8 as cost,
  coalesce(paid.calls, 0) as calls,
  case when r.status = 'pending' then (
    select count(*) + 1 from request o where o.status = 'pending'
      and (o.queued_at, o.id) < (r.queued_at, r.id)) end as position,
  s.title as summary_title, s.method, s.model, s.document, s.created_at as summarized_at
from request r
left join request_article a on a.request_id = r.id
left join summary s on s.request_id = r.id
left join lateral (select sum(tokens) as tokens, sum(cost) as cost, count(*) as calls from llm_call c
                   where c.request_id = r.id and c.model is not null) as paid on true
"""


async def view(connection: AsyncConnection, request_id: str) -> RequestView | None:
    rows = await connection.execute(text(f"{_VIEW} where r.id = :id"), {"id": request_id})
    row = rows.mappings().first()
    return None if row is None else _view(dict(row))


async def views(
    connection: AsyncConnection, *, statuses: Sequence[RequestStatus], user_id: str | None, limit: int
) -> list[RequestView]:
    """Newest first; with `user_id`, only those that this user asked for."""
    rows = await connection.execute(
        text(f"""{_VIEW}
                 where (cast(:statuses as text[]) = '{{}}' or r.status = any(cast(:statuses as text[])))
                   and (cast(:user_id as text) is null or exists (
                     select 1 from request_subscriber u where u.request_id = r.id and u.user_id = :user_id))
                 order by r.created_at desc, r.id limit :limit"""),
        {"statuses": list(statuses), "user_id": user_id, "limit": limit},
    )
    return [_view(dict(row)) for row in rows.mappings()]


def _view(row: dict[str, Any]) -> RequestView:
    document, method = row.pop("document"), row.pop("method")
    title, model, at = row.pop("summary_title"), row.pop("model"), row.pop("summarized_at")
    found = RequestView.model_validate(row)
    if document is None or found.status is not RequestStatus.SUCCEEDED:
        return found
    stored = StoredSummary(
        request_id=found.id,
        url=found.url,
        title=title,
        method=Method(method),
        model=model,
        label=label_of(Method(method), model),
        summary=Summary.model_validate(document),
        created_at=at,
    )
    return found.model_copy(update={"summary": stored})


async def subscribers(connection: AsyncConnection, request_id: str) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select u.name as user, s.subscribed_at,
                  (select n.event from notice n where n.job_key = 'request-' || s.request_id
                     and n.user_id = s.user_id order by n.id desc limit 1) as told
                from request_subscriber s join app_user u on u.id = s.user_id
                where s.request_id = :id order by s.subscribed_at, u.name"""),
        {"id": request_id},
    )
    return [dict(row) for row in rows.mappings()]


async def spending(connection: AsyncConnection, days: int) -> list[dict[str, Any]]:
    """The cost of each day (UTC), newest first."""
    rows = await connection.execute(
        text("""select to_char(date_trunc('day', started_at, 'UTC') at time zone 'UTC', 'YYYY-MM-DD') as day,
                  count(*) as calls, count(distinct request_id) as requests, sum(tokens) as tokens,
                  sum(cost)::float8 as cost, count(*) filter (where state in ('failed', 'lost')) as failed,
                  count(*) filter (where state = 'rejected') as rejected
                from llm_call where model is not null
                  and started_at >= date_trunc('day', now(), 'UTC') - make_interval(days => :days - 1)
                group by 1 order by 1 desc"""),
        {"days": days},
    )
    return [dict(row) for row in rows.mappings()]
