-- What failed for good, the gates, the keys that payloads were encrypted with.

create table dead_letter (
  id bigint generated always as identity,
  kind text not null,
  job_key text not null,
  workflow_id text not null,
  input jsonb not null,
  error jsonb not null,
  error_code text not null,
  retryable boolean not null,
  attempts integer not null,
  occurrences integer default 1 not null,
  state text default 'open' not null,
  first_failed_at timestamptz not null,
  last_failed_at timestamptz not null,
  settled_at timestamptz,
  constraint pk_dead_letter primary key (id),
  constraint ck_dead_letter_state check (state in ('open', 'replayed', 'resolved', 'discarded'))
);
create index ix_dead_letter_job_key on dead_letter (kind, job_key);
-- One open letter a job: failing again adds to it instead of piling up.
create unique index uq_dead_letter_open on dead_letter (kind, job_key) where state = 'open';

create table gate (
  name text,
  -- The next free instant; the end of the queue of those told to come back; a site's own "not before".
  next_at timestamptz not null,
  queue_until timestamptz not null,
  blocked_until timestamptz not null,
  blocked_reason text,
  delay_seconds float8 not null,
  failures integer default 0 not null,
  -- Refusals for coming too often, in a row; enough of them open the circuit until then (P4).
  refusals integer default 0 not null,
  open_until timestamptz,
  -- Who has the gate, where only one may be on the way at a time (F3).
  turn bigint default 0 not null,
  -- Jobs until the next longer pause.
  jobs_left integer,
  -- A person's word: nobody goes there until it is taken back.
  paused_at timestamptz,
  paused_reason text,
  updated_at timestamptz default now() not null,
  constraint pk_gate primary key (name)
);

create table payload_key (
  id text,
  fingerprint text not null,
  first_used_at timestamptz default now() not null,
  constraint pk_payload_key primary key (id)
);
