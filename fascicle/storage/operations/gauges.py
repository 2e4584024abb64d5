"""Gauges for Prometheus that are read from the database, so that every worker shows the same ones.

Each part reads a partial index or a small table; only the sources are counted in full, in one pass.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# Work that is overdue by more than this is late; work below it is in progress.
LATE = timedelta(minutes=5)
# A request that waits longer than this waits for the next day's budget or the end of a site's ban.
PUT_OFF = timedelta(minutes=10)
_MOST_CODES, _MOST_GATES, _MOST_ACCOUNTS = 50, 100, 200


class Gauge(NamedTuple):
    help: str
    labels: tuple[str, ...] = ()


GAUGES = {
    "fascicle_sources": Gauge("Sources by site and state: following, paused, open", ("site", "state")),
    "fascicle_sources_overdue": Gauge("Sources that should have been looked at before", ("site",)),
    "fascicle_sources_overdue_seconds": Gauge("How late the latest of them is", ("site",)),
    "fascicle_breakers_open": Gauge("Circuits that are open, of sources and of gates", ("kind", "site")),
    "fascicle_sites_paused": Gauge("Sites that a person paused", ("site",)),
    "fascicle_gates_blocked": Gauge("Gates that let nobody through for now", ("gate",)),
    "fascicle_gate_blocked_seconds": Gauge("For how long yet, at most", ("gate",)),
    "fascicle_gate_queue_seconds": Gauge("How far a gate's queue of those sent back reaches", ("gate",)),
    "fascicle_dead_letters": Gauge("Open dead letters by error code and kind of work", ("code", "kind")),
    "fascicle_backlog": Gauge("Work that is due and not done, by kind", ("kind",)),
    "fascicle_backlog_oldest_seconds": Gauge("For how long the oldest of it has been due", ("kind",)),
    "fascicle_posts_unsettled": Gauge("Posts that are not settled, by state", ("state",)),
    "fascicle_posts_due": Gauge("Posts whose time has come and that are not out"),
    "fascicle_posts_late": Gauge("Those that are past it by five minutes or more"),
    "fascicle_posts_late_seconds": Gauge("How late the latest of them is"),
    "fascicle_accounts": Gauge("Accounts, active or paused", ("state",)),
    "fascicle_account_token_expiry_timestamp_seconds": Gauge(
        "When an account has to be connected again, unless its token is renewed before",
        ("account", "account_id"),
    ),
    "fascicle_sweep_last_success_timestamp_seconds": Gauge("When a site's sweep last worked", ("site",)),
    "fascicle_sweep_failures": Gauge("Failures of a site's sweep in a row", ("site",)),
    "fascicle_requests_put_off": Gauge("Requests that wait for the next day's budget, or for a site's ban"),
    "fascicle_llm_tokens_today": Gauge("Tokens that models were asked for since midnight, UTC"),
    "fascicle_llm_cost_today": Gauge("What they cost, in the currency of the price settings"),
}


@dataclass(frozen=True)
class Sample:
    """One number: `labels` as `GAUGES` names them."""

    name: str
    labels: tuple[str, ...]
    value: float


_SOURCES = """
select v.* from (
  select site,
    count(*) filter (where paused_at is null and circuit = 'closed') as following,
    count(*) filter (where paused_at is not null) as paused,
    count(*) filter (where paused_at is null and circuit <> 'closed') as opened,
    count(*) filter (where circuit <> 'closed') as circuits,
    count(*) filter (where paused_at is null
      and now() - coalesce(next_check_at, created_at) > cast(:late as interval)) as overdue,
    max(now() - coalesce(next_check_at, created_at)) filter (where paused_at is null) as lateness
  from source where removed_at is null group by site) s
cross join lateral (values
  ('fascicle_sources', s.site, 'following', s.following::float8),
  ('fascicle_sources', s.site, 'paused', s.paused),
  ('fascicle_sources', s.site, 'open', s.opened),
  ('fascicle_breakers_open', 'source', s.site, s.circuits),
  ('fascicle_sources_overdue', s.site, null, s.overdue),
  ('fascicle_sources_overdue_seconds', s.site, null, greatest(0, extract(epoch from s.lateness)))
) v (name, a, b, value)
"""

# By family: each host of a feed may have a gate of its own.
_GATES = """
select v.* from (
  select split_part(name, ':', 1) as family,
    count(*) filter (where open_until > now()) as opened,
    count(*) filter (where blocked_until > now()) as blocked,
    count(*) filter (where paused_at is not null and strpos(name, ':') = 0) as paused,
    max(greatest(blocked_until, now())) - now() as blocked_for,
    max(greatest(queue_until, now())) - now() as queue
  from gate group by 1 order by max(updated_at) desc limit :most_gates) g
cross join lateral (values
  ('fascicle_breakers_open', 'gate', g.family, g.opened::float8),
  ('fascicle_gates_blocked', g.family, null, g.blocked),
  ('fascicle_sites_paused', g.family, null, g.paused),
  ('fascicle_gate_blocked_seconds', g.family, null, extract(epoch from g.blocked_for)),
  ('fascicle_gate_queue_seconds', g.family, null, extract(epoch from g.queue))
) v (name, a, b, value)
"""

# A paused host gets its own series: it must not silence the alerts about the other hosts.
_PAUSED_ALONE = """
select 'fascicle_sites_paused', name, null, 1::float8
from gate where paused_at is not null and strpos(name, ':') > 0 order by paused_at desc limit :most_gates
"""

_DEAD_LETTERS = """
select 'fascicle_dead_letters', case when place <= :most_codes then error_code else 'other' end, kind,
  sum(letters)::float8
from (select error_code, kind, count(*) as letters, row_number() over (order by count(*) desc) as place
      from dead_letter where state = 'open' group by error_code, kind) counted
group by 2, 3
"""

# Due work, and since when. Chapters are announced after a delay, so that two sources give one message.
_DUE = """
select 'chapters' as kind, coalesce(owed_at, first_detected_at) + cast(:notify_delay as interval) as due_at
  from logical_chapter where announce = 'owed'
union all select 'deliveries', coalesce(sending_at, next_attempt_at) from delivery
  where state in ('pending', 'sending')
union all select 'digests', digest_at from notification
  where digest_id is null and mode in ('hourly', 'daily')
union all select 'mails', coalesce(sending_at, next_attempt_at) from mail
  where state in ('pending', 'sending')
union all select 'fics', greatest(queued_at, not_before) from fic_job
  where state in ('pending', 'processing')
union all select 'requests', greatest(queued_at, not_before) from request
  where status in ('pending', 'running')
union all select 'enrichments', enrich_due_at from item where enrich = 'due'
union all select 'sales', created_at from sale where state = 'ready'
"""
BACKLOGS = ("chapters", "deliveries", "digests", "mails", "fics", "requests", "enrichments", "sales")

_BACKLOG = f"""
select v.* from (
  select kinds.kind, count(due.due_at) as jobs, min(due.due_at) as oldest
  from unnest(cast(:backlogs as text[])) as kinds (kind)
  left join ({_DUE}) due on due.kind = kinds.kind and due.due_at <= now()
  group by kinds.kind) k
cross join lateral (values
  ('fascicle_backlog', k.kind, null, k.jobs::float8),
  ('fascicle_backlog_oldest_seconds', k.kind, null, extract(epoch from now() - coalesce(k.oldest, now())))
) v (name, a, b, value)
"""

_UNFINISHED = "state in ('scheduled', 'uploading', 'publishing')"
_POSTS = f"""
select 'fascicle_posts_unsettled', states.state, null, count(p.state)::float8
from unnest(array['scheduled', 'uploading', 'publishing', 'unconfirmed', 'failed']) as states (state)
left join (
  select state from post where {_UNFINISHED} and deleted_at is null
  union all select state from post where state in ('unconfirmed', 'failed') and deleted_at is null
) p on p.state = states.state
group by states.state
union all
select v.* from (
  select count(*) as due, count(*) filter (where due_at <= now() - cast(:late as interval)) as late,
    min(due_at) as oldest
  from (select coalesce(due_at, publish_at) as due_at from post
        where {_UNFINISHED} and deleted_at is null) planned
  where due_at <= now()) d
cross join lateral (values
  ('fascicle_posts_due', null, null, d.due::float8),
  ('fascicle_posts_late', null, null, d.late),
  ('fascicle_posts_late_seconds', null, null,
   case when d.late > 0 then extract(epoch from now() - d.oldest) else 0 end)
) v (name, a, b, value)
"""

_ACCOUNTS = """
select 'fascicle_accounts', states.state, null, count(a.id)::float8
from unnest(array['active', 'paused']) as states (state)
left join account a on (a.paused_at is null) = (states.state = 'active')
group by states.state
union all
(select 'fascicle_account_token_expiry_timestamp_seconds', name, id,
   extract(epoch from refresh_expires_at)::float8
 from account where refresh_expires_at is not null
 order by refresh_expires_at limit :most_accounts)
"""

_SWEEPS = """
select 'fascicle_sweep_last_success_timestamp_seconds', site, null,
  extract(epoch from last_success_at)::float8
from sweep where :sweeps and last_success_at is not null
union all
select 'fascicle_sweep_failures', site, null, failures from sweep where :sweeps
"""

_REQUESTS = """
select 'fascicle_requests_put_off', null, null, count(*)::float8
from request where status in ('pending', 'running') and not_before > now() + cast(:put_off as interval)
union all
select v.* from (
  select coalesce(sum(tokens), 0) as tokens, coalesce(sum(cost), 0) as cost from llm_call
  where started_at >= date_trunc('day', now(), 'UTC')) spent
cross join lateral (values
  ('fascicle_llm_tokens_today', null, null, spent.tokens::float8),
  ('fascicle_llm_cost_today', null, null, spent.cost)
) v (name, a, b, value)
"""

_PARTS = (_SOURCES, _GATES, _PAUSED_ALONE, _DEAD_LETTERS, _BACKLOG, _POSTS, _ACCOUNTS, _SWEEPS, _REQUESTS)


async def read_gauges(
    connection: AsyncConnection, *, notify_delay_seconds: float, sweeps: bool
) -> list[Sample]:
    """All gauges as they are now. `sweeps`: sites are swept; if not, leave out rows of earlier sweeps."""
    values = {
        "late": LATE,
        "put_off": PUT_OFF,
        "notify_delay": timedelta(seconds=notify_delay_seconds),
        "sweeps": sweeps,
        "backlogs": list(BACKLOGS),
        "most_codes": _MOST_CODES,
        "most_gates": _MOST_GATES,
        "most_accounts": _MOST_ACCOUNTS,
    }
    samples: list[Sample] = []
    for part in _PARTS:
        for name, a, b, value in await connection.execute(text(part), values):
            labels = [str(label) for label in (a, b)[: len(GAUGES[name].labels)]]
            samples.append(Sample(name, tuple(labels), float(value)))
    return samples
