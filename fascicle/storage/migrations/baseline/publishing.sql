-- Accounts, posts and their files, automations, sales, mail.

create table account (
  id text,
  -- Whose it is: their time zone is meant where a time has none, they get the mail.
  user_id text,
  site text default 'deviantart' not null,
  site_user_id text not null,
  name text not null,
  -- Encrypted, each bound to its account and kind (fascicle.storage.operations.vault).
  access_token text,
  refresh_token text,
  access_expires_at timestamptz,
  refresh_expires_at timestamptz,
  -- Counted up by each new pair: what is done once per token is done once per generation.
  generation integer default 0 not null,
  refreshed_at timestamptz,
  -- Set: its posts wait until it is connected again.
  paused_at timestamptz,
  paused_code text,
  paused_reason text,
  created_at timestamptz default now() not null,
  constraint pk_account primary key (id),
  constraint fk_account_user_id foreign key (user_id)
    references app_user (id) on delete set null,
  constraint uq_account_site_site_user_id unique (site, site_user_id)
);
create index ix_account_user_id on account (user_id);

create table automation (
  id text,
  account_id text not null,
  name text not null,
  enabled boolean default true not null,
  -- One of fixed_time, fixed_interval, daily_quota, with its figures and days
  -- (fascicle.domain.publishing.automation).
  rule jsonb not null,
  time_zone text default 'UTC' not null,
  strategy text default 'fifo' not null,
  defaults jsonb default '{}' not null,
  jitter_seconds float8 default 0 not null,
  -- Set: what it publishes goes into the sale queue with this price preset.
  sale jsonb,
  -- Windows before it was created or enabled again are not made up for.
  active_since timestamptz default now() not null,
  created_at timestamptz default now() not null,
  constraint pk_automation primary key (id),
  constraint fk_automation_account_id foreign key (account_id)
    references account (id) on delete cascade,
  constraint ck_automation_strategy check (strategy in ('random', 'fifo', 'lifo')),
  constraint uq_automation_account_id_name unique (account_id, name)
);

create table post (
  id text default replace(gen_random_uuid()::text, '-', ''),
  account_id text not null,
  state text default 'draft' not null,
  title text not null,
  description text,
  tags text[],
  is_mature boolean,
  mature_level text,
  mature_classification text[],
  gallery_ids text[],
  display_resolution integer,
  feature boolean,
  allow_comments boolean,
  allow_free_download boolean,
  add_watermark boolean,
  is_ai_generated boolean,
  noai boolean,
  publish_at timestamptz,
  -- Up to so many seconds later, drawn once.
  jitter_seconds float8 default 0 not null,
  -- publish_at with its jitter; and the publish_at it was drawn for: another program may change that one.
  due_at timestamptz,
  planned_for timestamptz,
  attempts integer default 0 not null,
  waiting_for text,
  last_error_code text,
  last_error text,
  published_at timestamptz,
  automation_id text,
  -- When the reconciliation last saw to it that somebody looks after it.
  reconciled_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz default now() not null,
  updated_at timestamptz default now() not null,
  constraint pk_post primary key (id),
  constraint fk_post_account_id foreign key (account_id)
    references account (id) on delete cascade,
  constraint fk_post_automation_id foreign key (automation_id)
    references automation (id) on delete set null,
  constraint ck_post_display_resolution check (display_resolution between 0 and 8),
  constraint ck_post_has_time check (
    not (state in ('scheduled', 'uploading', 'publishing')) or publish_at is not null),
  constraint ck_post_jitter_seconds check (jitter_seconds between 0 and 604800),
  constraint ck_post_mature_level check (mature_level in ('strict', 'moderate')),
  constraint ck_post_publish_at check (isfinite(publish_at)),
  constraint ck_post_state check (state in (
    'draft', 'scheduled', 'uploading', 'publishing', 'published', 'failed', 'unconfirmed', 'cancelled'))
);
-- Who is next of an account, and what is late.
create index ix_post_account_due on post (account_id, due_at)
  where state in ('scheduled', 'uploading', 'publishing');
create index ix_post_drafts on post (account_id, created_at) where state = 'draft';
create index ix_post_due on post (due_at) where state in ('scheduled', 'uploading', 'publishing');
create index ix_post_settled_badly on post (updated_at) where state in ('unconfirmed', 'failed');
-- What another program wrote: for a time nobody has planned for yet.
create index ix_post_unplanned on post (publish_at)
  where state in ('scheduled', 'uploading', 'publishing') and planned_for is distinct from publish_at;

create table automation_run (
  id bigint generated always as identity,
  automation_id text not null,
  -- The window it fired for: the unique key is what keeps a rule to one firing per window.
  window_key text not null,
  outcome text not null,
  post_id text,
  detail jsonb,
  at timestamptz default now() not null,
  constraint pk_automation_run primary key (id),
  constraint fk_automation_run_automation_id foreign key (automation_id)
    references automation (id) on delete cascade,
  constraint fk_automation_run_post_id foreign key (post_id)
    references post (id) on delete set null,
  constraint ck_automation_run_outcome check (outcome in ('scheduled', 'no_drafts', 'missed', 'failed')),
  constraint uq_automation_run_automation_id_window_key unique (automation_id, window_key)
);

create table mail (
  id bigint generated always as identity,
  account_id text,
  post_id text,
  kind text not null,
  -- Written with the event it tells of; the same event again is the same key, and no second mail.
  dedup_key text not null,
  subject text not null,
  body text not null,
  state text default 'pending' not null,
  attempts integer default 0 not null,
  next_attempt_at timestamptz default now() not null,
  sending_at timestamptz,
  sent_at timestamptz,
  last_error text,
  created_at timestamptz default now() not null,
  constraint pk_mail primary key (id),
  constraint fk_mail_account_id foreign key (account_id)
    references account (id) on delete cascade,
  constraint fk_mail_post_id foreign key (post_id)
    references post (id) on delete cascade,
  constraint ck_mail_state check (state in ('pending', 'sending', 'sent', 'failed', 'unconfirmed')),
  constraint uq_mail_dedup_key unique (dedup_key)
);
create index ix_mail_unfinished on mail (next_attempt_at) where state in ('pending', 'sending');

create table post_event (
  id bigint generated always as identity,
  post_id text not null,
  at timestamptz default now() not null,
  kind text not null,
  detail jsonb,
  constraint pk_post_event primary key (id),
  constraint fk_post_event_post_id foreign key (post_id)
    references post (id) on delete cascade
);
create index ix_post_event_post_id on post_event (post_id, id);

create table post_file (
  id bigint generated always as identity,
  post_id text not null,
  position integer default 1 not null,
  -- Where it lies in the object store; several rows may name one object.
  object_key text not null,
  file_name text not null,
  content_type text default 'application/octet-stream' not null,
  size bigint,
  -- Null while `post create` is still bringing it in; who writes rows directly has stored it before.
  stored_at timestamptz default now(),
  -- The Sta.sh item, how often it was sent there, what the gallery held before.
  item_id text,
  submits integer default 0 not null,
  baseline text[],
  baseline_at timestamptz,
  -- The publish intent, committed before the call; and what is known of its outcome.
  intent_at timestamptz,
  first_intent_at timestamptz,
  intents integer default 0 not null,
  -- Calls whose outcome was never learnt; and whether a later one was refused because of it.
  unclear integer default 0 not null,
  refused_as_published boolean default false not null,
  published_at timestamptz,
  deviation_id text,
  url text,
  deleted_at timestamptz,
  constraint pk_post_file primary key (id),
  constraint fk_post_file_post_id foreign key (post_id)
    references post (id) on delete cascade,
  constraint uq_post_file_post_id_position unique (post_id, position)
);
create index ix_post_file_deleted on post_file (deleted_at) where deleted_at is not null;
create index ix_post_file_object_key on post_file (object_key);
create index ix_post_file_unstored on post_file (id) where stored_at is null;

create table sale (
  id bigint generated always as identity,
  post_id text not null,
  price jsonb not null,
  -- waiting until the post is published, ready, claimed by a client until then, done or failed.
  state text default 'waiting' not null,
  claim text,
  claimed_by text,
  claimed_until timestamptz,
  attempts integer default 0 not null,
  last_error text,
  created_at timestamptz default now() not null,
  settled_at timestamptz,
  constraint pk_sale primary key (id),
  constraint fk_sale_post_id foreign key (post_id)
    references post (id) on delete cascade,
  constraint ck_sale_state check (state in ('waiting', 'ready', 'claimed', 'done', 'failed', 'cancelled')),
  constraint uq_sale_post_id unique (post_id)
);
create index ix_sale_open on sale (id) where state in ('waiting', 'ready', 'claimed');
