-- What was read of fics, the queue, who waits for what.

create table fic (
  -- `{site}-{kind}-{id}`: the dedup key, and what the workflow's id is made of.
  key text,
  site text not null,
  kind text not null,
  site_id text not null,
  url text not null,
  title text not null,
  authors text[] default '{}' not null,
  author_urls text[] default '{}' not null,
  fandoms text[] default '{}' not null,
  relationships text[] default '{}' not null,
  characters text[] default '{}' not null,
  tags text[] default '{}' not null,
  warnings text[] default '{}' not null,
  categories text[] default '{}' not null,
  rating text,
  language text,
  -- Sanitised HTML.
  summary text,
  words integer,
  chapters integer,
  chapters_total integer,
  complete boolean,
  published_on date,
  updated_on date,
  restricted boolean default false not null,
  change_token text,
  -- A work's places in series; a series' count of works, and of those a guest may not see.
  series jsonb default '[]' not null,
  works_total integer,
  hidden_works integer default 0 not null,
  read_at timestamptz not null,
  created_at timestamptz default now() not null,
  constraint pk_fic primary key (key),
  constraint ck_fic_kind check (kind in ('work', 'series'))
);

create table fic_job (
  key text,
  site text not null,
  kind text not null,
  site_id text not null,
  url text not null,
  state text default 'pending' not null,
  -- Counted up when a finished job is done anew: whoever still works for an earlier round writes nothing.
  round integer default 1 not null,
  -- The order of the site's queue; a finished job that is done anew goes to its end.
  queued_at timestamptz default now() not null,
  started_at timestamptz,
  finished_at timestamptz,
  -- The next request of a job that takes several, and what the pages before it said.
  next_url text,
  requests integer default 0 not null,
  pages jsonb default '[]' not null,
  -- Of a series: what became of each of its works.
  works jsonb default '[]' not null,
  attempts integer default 0 not null,
  not_before timestamptz,
  waiting_for text,
  error_code text,
  error text,
  reasons text[] default '{}' not null,
  created_at timestamptz default now() not null,
  constraint pk_fic_job primary key (key),
  constraint ck_fic_job_state check (state in ('pending', 'processing', 'done', 'error', 'nOTP', 'series-done'))
);
create index ix_fic_job_finished_at on fic_job (finished_at);
create index ix_fic_job_queue on fic_job (site, queued_at, key) where state in ('pending', 'processing');

-- A moderator's word stays when the job is cleared or done anew.
create table fic_override (
  key text,
  moderator text not null,
  reason text,
  created_at timestamptz default now() not null,
  constraint pk_fic_override primary key (key)
);

-- Pages that were fetched, or given by a person, and not made use of yet: a crash fetches none of them again.
create table fic_page (
  -- No reference: a page may be given before the job is there.
  job_key text,
  url text,
  body bytea not null,
  given boolean default false not null,
  created_at timestamptz default now() not null,
  constraint pk_fic_page primary key (job_key, url)
);

-- Replies on Discord that are edited when their job moves on; editing twice does no harm.
create table discord_reply (
  id bigint generated always as identity,
  -- No reference: that the job was cleared is to be said, too.
  job_key text not null,
  user_id text not null,
  application_id text not null,
  -- The interaction's token, encrypted; good for 15 minutes.
  token text not null,
  channel_id text,
  discord_user_id text not null,
  -- What the reply says now.
  shown text,
  state text default 'open' not null,
  attempts integer default 0 not null,
  next_attempt_at timestamptz default now() not null,
  expires_at timestamptz not null,
  last_error text,
  created_at timestamptz default now() not null,
  constraint pk_discord_reply primary key (id),
  constraint fk_discord_reply_user_id foreign key (user_id)
    references app_user (id) on delete cascade,
  constraint ck_discord_reply_state check (state in ('open', 'settled', 'lost'))
);
create index ix_discord_reply_open on discord_reply (job_key) where state = 'open';

create table fic_series_work (
  series_key text,
  position integer,
  part integer,
  work_key text,
  -- Why this one could not be read; the others are there all the same (F7).
  error text,
  constraint pk_fic_series_work primary key (series_key, position),
  constraint fk_fic_series_work_series_key foreign key (series_key)
    references fic (key) on delete cascade,
  constraint fk_fic_series_work_work_key foreign key (work_key)
    references fic (key) on delete cascade
);

create table fic_subscriber (
  job_key text,
  user_id text,
  -- The round they wait for, or were last told of.
  round integer not null,
  note text,
  tags text[] default '{}' not null,
  -- Whoever still stands at the counter then gets the answer there (F4).
  waits_until timestamptz,
  subscribed_at timestamptz default now() not null,
  constraint pk_fic_subscriber primary key (job_key, user_id),
  constraint fk_fic_subscriber_job_key foreign key (job_key)
    references fic_job (key) on delete cascade,
  constraint fk_fic_subscriber_user_id foreign key (user_id)
    references app_user (id) on delete cascade
);
create index ix_fic_subscriber_user_id on fic_subscriber (user_id);
