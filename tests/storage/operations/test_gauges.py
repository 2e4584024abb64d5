"""What the database says of the whole installation, for Prometheus (O1)."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.storage.database import open_engine, transaction
from fascicle.storage.operations.gauges import BACKLOGS, GAUGES, read_gauges

SOURCES = """
insert into source (id, site, site_key, url, title, circuit, paused_at, removed_at, next_check_at) values
  ('a', 'mangadex', 'a', 'u', 't', 'closed', null, null, now() + interval '1 hour'),
  ('b', 'mangadex', 'b', 'u', 't', 'closed', null, null, now() - interval '10 minutes'),
  ('c', 'mangadex', 'c', 'u', 't', 'open', null, null, now() + interval '1 day'),
  ('d', 'mangadex', 'd', 'u', 't', 'half_open', now(), null, now() - interval '9 days'),
  ('e', 'mangadex', 'e', 'u', 't', 'open', null, now(), now() - interval '9 days'),
  ('f', 'feed', 'f', 'u', 't', 'closed', null, null, null)
"""
GATES = """
insert into gate (name, next_at, queue_until, blocked_until, open_until, delay_seconds) values
  ('feed:a.test', '-infinity', '-infinity', now() + interval '60 s', now() + interval '60 s', 1),
  ('feed:b.test', '-infinity', now() + interval '30 s', now() + interval '90 s', now() - interval '1 s', 1),
  ('mangadex', '-infinity', '-infinity', '-infinity', null, 1)
"""
LETTERS = """
insert into dead_letter (kind, job_key, workflow_id, input, error, error_code, retryable, attempts, state,
  first_failed_at, last_failed_at)
select kind, n::text, 'w', '{}', '{}', code, false, 1, state, now(), now() from (values
  ('poll', 'not_found', 'open'), ('ingest', 'not_found', 'open'), ('poll', 'not_found', 'replayed'))
  as v (kind, code, state), generate_series(1, 2) n
"""
PUBLISHING = """
insert into account (id, site_user_id, name, refresh_expires_at, paused_at) values
  ('acc1', '1', 'ann', to_timestamp(2000000000), null), ('acc2', '2', 'bea', null, now());
insert into post (account_id, state, title, publish_at, due_at, deleted_at) values
  ('acc1', 'scheduled', 't', now() + interval '1 day', null, null),
  ('acc1', 'scheduled', 't', now() - interval '1 hour', now() - interval '1 minute', null),
  ('acc1', 'publishing', 't', now() - interval '1 hour', now() - interval '10 minutes', null),
  ('acc1', 'scheduled', 't', now() - interval '1 hour', now() - interval '9 hours', now()),
  ('acc1', 'unconfirmed', 't', now(), now(), null),
  ('acc1', 'published', 't', now(), now(), null);
insert into sweep (site, last_success_at, failures) values ('mangadex', to_timestamp(1900000000), 0),
  ('weebcentral', null, 3)
"""
WORK = """
insert into series (id, title) values ('s', 't');
insert into logical_chapter (series_id, chapter_key, first_detected_at, updated_at, announce, owed_at) values
  ('s', '1', now(), now(), 'owed', now() - interval '100 s'),
  ('s', '2', now(), now(), 'owed', now() - interval '20 s'), ('s', '3', now(), now(), 'done', now());
insert into mail (kind, dedup_key, subject, body, state, next_attempt_at) values
  ('k', '1', 's', 'b', 'pending', now() - interval '300 s'), ('k', '2', 's', 'b', 'sent', now()),
  ('k', '3', 's', 'b', 'pending', now() + interval '300 s');
insert into request (id, url, url_hash, correlation_id, status, queued_at, not_before) values
  ('r1', 'u', '1', 'c', 'pending', now() - interval '40 s', null),
  ('r2', 'u', '2', 'c', 'pending', now() - interval '1 day', now() + interval '2 hours');
insert into llm_call (step, tokens, cost, started_at) values ('s', 500, 0.25, now()),
  ('s', 900, 1, now() - interval '2 days')
"""


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[AsyncConnection]:
    engine = open_engine(database_url)
    async with transaction(engine) as opened:
        yield opened
    await engine.dispose()


async def gauges(connection: AsyncConnection, *, sweeps: bool = True) -> dict[tuple[str, ...], float]:
    """By name and labels; ages to the ten seconds."""
    read = await read_gauges(connection, notify_delay_seconds=60, sweeps=sweeps)
    found = {(sample.name.removeprefix("fascicle_"), *sample.labels): sample.value for sample in read}
    assert len(found) == len(read), "a series is there once"
    assert all(len(sample.labels) == len(GAUGES[sample.name].labels) for sample in read)
    return {key: round(value, -1) if key[0].endswith("_seconds") else value for key, value in found.items()}


async def run(connection: AsyncConnection, *scripts: str) -> None:
    for statement in ";".join(scripts).split(";"):
        await connection.execute(text(statement))


async def test_o1_every_gauge_shows_what_stands_in_the_database(connection: AsyncConnection) -> None:
    await run(connection, SOURCES, GATES, LETTERS, PUBLISHING, WORK)
    found = await gauges(connection)
    assert {name for name, *_ in found} == {name.removeprefix("fascicle_") for name in GAUGES}
    expected = {
        ("sources", "mangadex", "following"): 2, ("sources", "mangadex", "paused"): 1,
        ("sources", "mangadex", "open"): 1, ("sources", "feed", "following"): 1,
        ("sources_overdue", "mangadex"): 1, ("sources_overdue_seconds", "mangadex"): 600,
        ("sources_overdue", "feed"): 0, ("sources_overdue_seconds", "feed"): 0,
        ("breakers_open", "source", "mangadex"): 2, ("breakers_open", "source", "feed"): 0,
        ("breakers_open", "gate", "feed"): 1, ("breakers_open", "gate", "mangadex"): 0,
        ("gates_blocked", "feed"): 2, ("gate_blocked_seconds", "feed"): 90,
        ("gate_queue_seconds", "feed"): 30, ("gate_queue_seconds", "mangadex"): 0,
        ("gates_blocked", "mangadex"): 0, ("gate_blocked_seconds", "mangadex"): 0,
        ("dead_letters", "not_found", "poll"): 2, ("dead_letters", "not_found", "ingest"): 2,
        ("posts_unsettled", "scheduled"): 2, ("posts_unsettled", "publishing"): 1,
        ("posts_unsettled", "unconfirmed"): 1, ("posts_unsettled", "failed"): 0,
        ("posts_due",): 2, ("posts_late",): 1, ("posts_late_seconds",): 600,
        ("accounts", "active"): 1, ("accounts", "paused"): 1,
        ("account_token_expiry_timestamp_seconds", "ann", "acc1"): 2000000000,
        ("sweep_last_success_timestamp_seconds", "mangadex"): 1900000000,
        ("sweep_failures", "mangadex"): 0, ("sweep_failures", "weebcentral"): 3,
        ("backlog", "chapters"): 1, ("backlog_oldest_seconds", "chapters"): 40,
        ("backlog", "mails"): 1, ("backlog_oldest_seconds", "mails"): 300,
        ("backlog", "requests"): 1, ("backlog_oldest_seconds", "requests"): 40,
        ("requests_put_off",): 1, ("llm_tokens_today",): 500, ("llm_cost_today",): 0.25,
    }  # fmt: skip
    assert {key: found.get(key) for key in expected} == expected
    assert {kind for name, *kinds in found if name == "backlog" for kind in kinds} == set(BACKLOGS)


async def test_o1_one_host_that_is_paused_is_not_its_whole_kind(connection: AsyncConnection) -> None:
    await run(connection, GATES, "update gate set paused_at = now() where name = 'feed:a.test'")
    found = await gauges(connection)
    paused = {
        site: value for (name, *labels), value in found.items() if name == "sites_paused" for site in labels
    }
    assert paused == {"feed": 0, "mangadex": 0, "feed:a.test": 1}
    await run(connection, "update gate set name = 'feed', paused_at = now() where name = 'feed:b.test'")
    assert (await gauges(connection))[("sites_paused", "feed")] == 1


async def test_o1_what_is_over_leaves_no_series_behind(connection: AsyncConnection) -> None:
    await run(connection, LETTERS, PUBLISHING)
    assert ("dead_letters", "not_found", "poll") in await gauges(connection)
    await run(connection, "update dead_letter set state = 'resolved'; delete from account")
    after = await gauges(connection, sweeps=False)
    gone = {"dead_letters", "account_token_expiry_timestamp_seconds", "sweep_failures"}
    assert not gone & {name for name, *_ in after}
    assert after[("posts_unsettled", "unconfirmed")] == 0


async def test_o1_codes_without_end_become_few_series(connection: AsyncConnection) -> None:
    await run(connection, LETTERS.replace("code, false", "code || n, false").replace("(1, 2)", "(1, 80)"))
    read = await gauges(connection)
    letters = {tuple(labels): value for (name, *labels), value in read.items() if name == "dead_letters"}
    assert len(letters) == 52, "fifty, and the others of each kind"
    assert sum(letters.values()) == 160, "none is lost"
