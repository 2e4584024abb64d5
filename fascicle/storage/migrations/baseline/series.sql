-- Series, their sources and chapters; people and what they follow.

create table app_user (
  id text,
  name text not null,
  -- How and how often this person is told; an entry of the library may say otherwise for its series.
  mode text default 'immediate' not null,
  languages text[] default '{}' not null,
  time_zone text default 'UTC' not null,
  -- Until they chose one, a time without a zone is nobody's.
  time_zone_chosen boolean default false not null,
  email text,
  digest_hour integer default 9 not null,
  daily_cap integer,
  created_at timestamptz default now() not null,
  constraint pk_app_user primary key (id),
  constraint ck_app_user_digest_hour check (digest_hour between 0 and 23),
  constraint ck_app_user_mode check (mode in ('immediate', 'hourly', 'daily', 'off')),
  constraint uq_app_user_name unique (name)
);

create table import_entry (
  -- The digest of the file's contents: the same file again goes on where it was.
  fingerprint text,
  position integer,
  title text,
  url text,
  state text default 'pending' not null,
  source_id text,
  -- Why it failed or is doubtful, and the candidates to choose from.
  detail jsonb,
  updated_at timestamptz default now() not null,
  constraint pk_import_entry primary key (fingerprint, position),
  constraint ck_import_entry_state check (state in ('pending', 'added', 'present', 'doubtful', 'failed'))
);

create table series (
  id text,
  title text not null,
  -- Numbering that begins anew in each volume puts the volume into the chapter key.
  numbering_restarts boolean default false not null,
  latest_chapter numeric,
  last_chapter_at timestamptz,
  created_at timestamptz default now() not null,
  constraint pk_series primary key (id)
);

create table sweep (
  site text,
  -- How far the list of news has been read and the sources woken; fascicle.domain.series.sweep reads it.
  cursor jsonb,
  last_success_at timestamptz,
  failures integer default 0 not null,
  last_error text,
  constraint pk_sweep primary key (site)
);

create table library_entry (
  user_id text,
  series_id text,
  notify boolean default true not null,
  mode text,
  languages text[],
  -- A site's name or a source's id: whose link a message carries if it has the chapter.
  preferred_source text,
  -- Everything up to here was read; the volume counts only where numbering restarts.
  read_number numeric,
  read_volume numeric,
  created_at timestamptz default now() not null,
  constraint pk_library_entry primary key (user_id, series_id),
  constraint fk_library_entry_series_id foreign key (series_id)
    references series (id) on delete cascade,
  constraint fk_library_entry_user_id foreign key (user_id)
    references app_user (id) on delete cascade,
  constraint ck_library_entry_mode check (mode in ('immediate', 'hourly', 'daily', 'off'))
);
create index ix_library_entry_series_id_user_id on library_entry (series_id, user_id);

create table logical_chapter (
  id bigint generated always as identity,
  series_id text not null,
  chapter_key text not null,
  number numeric,
  raw_number text,
  volume text,
  title text,
  published_at timestamptz,
  first_detected_at timestamptz not null,
  updated_at timestamptz not null,
  -- Committed with the row itself, so that a crash between storing and telling cannot forget the telling.
  announce text not null,
  owed_at timestamptz,
  -- Counted up by each new reason to tell, so that one which comes while others are told is not overlooked.
  owed_round integer default 0 not null,
  announced_at timestamptz,
  constraint pk_logical_chapter primary key (id),
  constraint fk_logical_chapter_series_id foreign key (series_id)
    references series (id) on delete cascade,
  constraint ck_logical_chapter_announce check (announce in ('silent', 'owed', 'done')),
  constraint uq_logical_chapter_series_id_chapter_key unique (series_id, chapter_key)
);
create index ix_logical_chapter_owed on logical_chapter (series_id) where announce = 'owed';

create table source (
  id text,
  -- A series on a site; null: a feed, whose instalments are items instead of chapters.
  series_id text,
  site text not null,
  site_key text not null,
  url text not null,
  title text not null,
  languages text[] default '{}' not null,
  cadence text default 'HOT' not null,
  pinned_cadence text,
  circuit text default 'closed' not null,
  failure_count integer default 0 not null,
  last_error_code text,
  last_error text,
  -- What the first sync finds is history; unless the person who added the source asked to be told.
  announce_history boolean default false not null,
  first_synced_at timestamptz,
  complete_listing_at timestamptz,
  last_checked_at timestamptz,
  last_success_at timestamptz,
  last_new_at timestamptz,
  next_check_at timestamptz,
  next_check_reason text,
  -- A look of its own found what the sweep should have told it of.
  sweep_missed_at timestamptz,
  paused_at timestamptz,
  paused_reason text,
  removed_at timestamptz,
  created_at timestamptz default now() not null,
  constraint pk_source primary key (id),
  constraint fk_source_series_id foreign key (series_id)
    references series (id) on delete cascade,
  constraint ck_source_cadence check (cadence in ('HOT', 'WARM', 'COLD')),
  constraint ck_source_circuit check (circuit in ('closed', 'open', 'half_open')),
  constraint uq_source_site_site_key unique (site, site_key)
);
create index ix_source_series_id on source (series_id);
-- New ones, and those of a restored database: looked for every minute.
create index ix_source_without_plan on source (id) where next_check_at is null;

create table chapter_source (
  id bigint generated always as identity,
  source_id text not null,
  chapter_id bigint not null,
  chapter_key text not null,
  number numeric,
  raw_number text,
  url text not null,
  external boolean not null,
  first_detected_at timestamptz not null,
  last_seen_at timestamptz not null,
  unavailable_at timestamptz,
  constraint pk_chapter_source primary key (id),
  constraint fk_chapter_source_chapter_id foreign key (chapter_id)
    references logical_chapter (id) on delete cascade,
  constraint fk_chapter_source_source_id foreign key (source_id)
    references source (id) on delete cascade,
  constraint uq_chapter_source_source_id_chapter_key unique (source_id, chapter_key)
);
create index ix_chapter_source_chapter_id on chapter_source (chapter_id);

create table chapter_upload (
  source_id text,
  upload_id text,
  chapter_key text not null,
  raw_number text,
  language text,
  group_name text,
  title text,
  volume text,
  url text not null,
  external boolean not null,
  pages integer,
  unavailable boolean not null,
  published_at timestamptz,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  constraint pk_chapter_upload primary key (source_id, upload_id),
  constraint fk_chapter_upload_source_id foreign key (source_id)
    references source (id) on delete cascade
);
create index ix_chapter_upload_source_id_chapter_key on chapter_upload (source_id, chapter_key);
