-- Pages that become summaries: what was asked for, what each stage left behind, what was paid.

create table request (
  id text,
  url text not null,
  -- Of the address's normal form: what the same page is known by.
  url_hash text not null,
  status text default 'pending' not null,
  stage text,
  progress integer default 0 not null,
  -- Counted up when it is tried again: people are told once a round.
  round integer default 1 not null,
  correlation_id text not null,
  -- The inbox's item that it is about, if it is.
  item_id bigint,
  queued_at timestamptz default now() not null,
  started_at timestamptz,
  finished_at timestamptz,
  not_before timestamptz,
  waiting_for text,
  -- When somebody last did something for it.
  touched_at timestamptz default now() not null,
  attempts integer default 0 not null,
  error jsonb,
  -- What was wrong with the last draft, for whoever corrects it; and the summary, once it is right.
  problems text[] default '{}' not null,
  validated jsonb,
  created_at timestamptz default now() not null,
  constraint pk_request primary key (id),
  constraint fk_request_item_id foreign key (item_id)
    references item (id) on delete set null,
  constraint ck_request_stage check (stage in ('extracting', 'summarizing', 'validating', 'persisting')),
  constraint ck_request_status check (status in ('pending', 'running', 'succeeded', 'failed', 'cancelled'))
);
create index ix_request_created_at on request (created_at);
create index ix_request_item_id on request (item_id) where item_id is not null;
create index ix_request_queue on request (queued_at, id) where status in ('pending', 'running');
create index ix_request_url_hash_created_at on request (url_hash, created_at);
-- Of those who ask for the same page at once, one has it read (R1).
create unique index uq_request_open on request (url_hash) where status in ('pending', 'running');

-- Every question to a model: noted before it is asked, with what it may cost; then what it did cost, and the
-- answer, which is the result of summarizing. Without its request it still counts for its day.
create table llm_call (
  id bigint generated always as identity,
  request_id text,
  -- What it is for: `notes:1:3`, `summary`, `correction`. The extractive summary is one that costs nothing.
  step text not null,
  model text,
  state text default 'open' not null,
  tokens integer not null,
  cost numeric not null,
  content text,
  error_code text,
  started_at timestamptz not null,
  ended_at timestamptz,
  constraint pk_llm_call primary key (id),
  constraint fk_llm_call_request_id foreign key (request_id)
    references request (id) on delete set null,
  constraint ck_llm_call_state check (state in ('open', 'answered', 'failed', 'lost', 'rejected'))
);
create index ix_llm_call_request_id on llm_call (request_id);
create index ix_llm_call_started_at on llm_call (started_at);
create unique index uq_llm_call_answered on llm_call (request_id, step) where state = 'answered';

-- The result of extracting.
create table request_article (
  request_id text,
  url text not null,
  title text not null,
  text text not null,
  language text,
  author text,
  site_name text,
  published_at timestamptz,
  extractor text not null,
  words integer not null,
  created_at timestamptz default now() not null,
  constraint pk_request_article primary key (request_id),
  constraint fk_request_article_request_id foreign key (request_id)
    references request (id) on delete cascade
);

create table request_subscriber (
  request_id text,
  user_id text,
  -- Whoever waits at the terminal until then gets the answer there.
  waits_until timestamptz,
  subscribed_at timestamptz default now() not null,
  constraint pk_request_subscriber primary key (request_id, user_id),
  constraint fk_request_subscriber_request_id foreign key (request_id)
    references request (id) on delete cascade,
  constraint fk_request_subscriber_user_id foreign key (user_id)
    references app_user (id) on delete cascade
);
create index ix_request_subscriber_user_id on request_subscriber (user_id);

create table summary (
  request_id text,
  url_hash text not null,
  url text not null,
  title text not null,
  method text not null,
  model text,
  document jsonb not null,
  created_at timestamptz default now() not null,
  constraint pk_summary primary key (request_id),
  constraint fk_summary_request_id foreign key (request_id)
    references request (id) on delete cascade,
  constraint ck_summary_method check (method in ('model', 'extractive'))
);
create index ix_summary_url_hash_created_at on summary (url_hash, created_at);
