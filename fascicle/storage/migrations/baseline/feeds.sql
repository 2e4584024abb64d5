-- Feeds, what was seen in them, items, who subscribes, what they have.
-- A feed is a `source` like a series on a site: cadence, circuit, pause and next check stand there.

create table feed (
  source_id text,
  -- Where it is fetched; the source's url is where people find it.
  url text not null,
  kind text,
  site_url text,
  description text,
  language text,
  image_url text,
  -- Written together with the items of the very document they belong to: a crash cannot skip a document.
  etag text,
  last_modified text,
  document_hash text,
  -- A permanent redirect is believed after several sightings.
  moved_to text,
  moved_sightings integer default 0 not null,
  gone_at timestamptz,
  -- The newest date among all entries ever seen: what is older is no news after a flood.
  newest_published_at timestamptz,
  -- What the site asked of us for the time until the next look.
  patience_seconds integer,
  constraint pk_feed primary key (source_id),
  constraint fk_feed_source_id foreign key (source_id)
    references source (id) on delete cascade
);

create table ingestion_run (
  id bigint generated always as identity,
  source_id text not null,
  replay_of bigint,
  outcome text not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  duration_ms integer not null,
  http_status integer,
  bytes integer,
  entries integer default 0 not null,
  new integer default 0 not null,
  updated integer default 0 not null,
  -- Known entries that came under another id.
  renamed integer default 0 not null,
  -- New to us, but history: nobody's inbox got them.
  silent integer default 0 not null,
  failed integer default 0 not null,
  -- Rows that the inboxes gained.
  delivered integer default 0 not null,
  flood boolean default false not null,
  error_code text,
  error text,
  -- The document as it came, compressed, of runs that had something to do: what a replay reads.
  document bytea,
  content_type text,
  constraint pk_ingestion_run primary key (id),
  constraint fk_ingestion_run_source_id foreign key (source_id)
    references source (id) on delete cascade,
  constraint ck_ingestion_run_outcome check (outcome in ('first', 'new', 'idle', 'not_modified', 'failed'))
);
create index ix_ingestion_run_source_id_id on ingestion_run (source_id, id);
create index ix_ingestion_run_started_at on ingestion_run (started_at);

create table item (
  id bigint generated always as identity,
  provider text,
  provider_item_id text,
  url text,
  -- The address without all that does not tell one page from another; null where an address is shared.
  url_key text,
  title text not null,
  -- Sanitised HTML.
  summary text,
  content text,
  author text,
  image_url text,
  media_url text,
  media_type text,
  duration_seconds integer,
  language text,
  categories text[] default '{}' not null,
  published_at timestamptz,
  -- The feed whose edits it follows; others may only fill gaps.
  source_id text,
  first_seen_at timestamptz not null,
  updated_at timestamptz not null,
  -- Enrichment (I5).
  enrich text default 'none' not null,
  enrich_due_at timestamptz,
  enriched_at timestamptz,
  site_name text,
  lead text,
  lead_kind text,
  words integer,
  reading_minutes integer,
  metadata jsonb default '{}' not null,
  constraint pk_item primary key (id),
  constraint fk_item_source_id foreign key (source_id)
    references source (id) on delete set null,
  constraint ck_item_enrich check (enrich in ('none', 'due', 'done', 'failed')),
  constraint ck_item_provider check (num_nulls(provider, provider_item_id) <> 1)
);
create index ix_item_enrich_due on item (enrich_due_at) where enrich = 'due';
create index ix_item_source_id on item (source_id);
create unique index uq_item_provider on item (provider, provider_item_id);
create unique index uq_item_url_key on item (url_key);

create table subscription (
  user_id text,
  source_id text,
  state text default 'ACTIVE' not null,
  -- The person's own name for it, and the folder it is in (outer/inner), as OPML has them.
  title text,
  folder text,
  created_at timestamptz default now() not null,
  state_at timestamptz default now() not null,
  constraint pk_subscription primary key (user_id, source_id),
  constraint fk_subscription_source_id foreign key (source_id)
    references source (id) on delete cascade,
  constraint fk_subscription_user_id foreign key (user_id)
    references app_user (id) on delete cascade,
  constraint ck_subscription_state check (state in ('ACTIVE', 'PAUSED', 'UNSUBSCRIBED'))
);
create index ix_subscription_active on subscription (source_id, user_id) where state = 'ACTIVE';

create table feed_item (
  -- Seen: it stays when the item is long forgotten, so that what reappears is no news (a tombstone).
  source_id text,
  item_key text,
  item_id bigint,
  url_key text,
  title_key text not null,
  content_hash text not null,
  published_at timestamptz,
  first_seen_at timestamptz not null,
  -- Of the document it was last in.
  last_seen_at timestamptz not null,
  -- Known before the feed was followed, or old things under new ids: nobody's inbox got it.
  silent boolean default false not null,
  constraint pk_feed_item primary key (source_id, item_key),
  constraint fk_feed_item_item_id foreign key (item_id)
    references item (id) on delete set null,
  constraint fk_feed_item_source_id foreign key (source_id)
    references source (id) on delete cascade
);
create index ix_feed_item_item_id on feed_item (item_id);
create index ix_feed_item_source_id_first_seen_at on feed_item (source_id, first_seen_at);
create index ix_feed_item_source_id_title_key on feed_item (source_id, title_key);
create index ix_feed_item_source_id_url_key on feed_item (source_id, url_key);

create table inbox_item (
  user_id text,
  item_id bigint,
  -- Through which feed it came first.
  source_id text,
  state text default 'INBOX' not null,
  arrived_at timestamptz not null,
  state_at timestamptz,
  constraint pk_inbox_item primary key (user_id, item_id),
  constraint fk_inbox_item_item_id foreign key (item_id)
    references item (id) on delete cascade,
  constraint fk_inbox_item_source_id foreign key (source_id)
    references source (id) on delete set null,
  constraint fk_inbox_item_user_id foreign key (user_id)
    references app_user (id) on delete cascade,
  constraint ck_inbox_item_state check (state in ('INBOX', 'BOOKMARKED', 'ARCHIVED'))
);
create index ix_inbox_item_item_id on inbox_item (item_id);
create index ix_inbox_item_source_id on inbox_item (source_id);
create index ix_inbox_item_user_id_state_arrived_at on inbox_item (user_id, state, arrived_at);
