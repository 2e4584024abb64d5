-- What people are told, and through which channels.

create table channel (
  id bigint generated always as identity,
  -- Null: it is nobody's but the installation's, for what `purpose` says.
  user_id text,
  purpose text,
  url text not null,
  created_at timestamptz default now() not null,
  constraint pk_channel primary key (id),
  constraint uq_channel_user_id_url unique (user_id, url),
  constraint fk_channel_user_id foreign key (user_id)
    references app_user (id) on delete cascade,
  constraint ck_channel_somebodys check (num_nonnulls(user_id, purpose) = 1)
);
create unique index uq_channel_purpose on channel (purpose);

create table digest (
  id bigint generated always as identity,
  user_id text not null,
  mode text not null,
  created_at timestamptz default now() not null,
  constraint pk_digest primary key (id),
  constraint fk_digest_user_id foreign key (user_id)
    references app_user (id) on delete cascade
);

-- What people are told of a job they asked for: a fic, a request. Its words are settled when it is made.
create table notice (
  id bigint generated always as identity,
  -- A fic's key, or the workflow's id of a request.
  job_key text not null,
  round integer not null,
  event text not null,
  -- Null: the community's channel.
  user_id text,
  title text not null,
  body text not null,
  created_at timestamptz default now() not null,
  -- When they had the answer at the counter already.
  answered_at timestamptz,
  constraint pk_notice primary key (id),
  constraint fk_notice_user_id foreign key (user_id)
    references app_user (id) on delete cascade,
  constraint ck_notice_event check (event in ('start', 'done', 'failed')),
  constraint uq_notice_job_key_round_event_user_id unique nulls not distinct (job_key, round, event, user_id)
);

create table notification (
  id bigint generated always as identity,
  user_id text not null,
  chapter_id bigint not null,
  -- `immediate`, or the digest it goes into; `dropped` when it had become pointless before the digest came.
  mode text default 'immediate' not null,
  digest_at timestamptz,
  digest_id bigint,
  created_at timestamptz default now() not null,
  constraint pk_notification primary key (id),
  constraint fk_notification_chapter_id foreign key (chapter_id)
    references logical_chapter (id) on delete cascade,
  constraint fk_notification_digest_id foreign key (digest_id)
    references digest (id) on delete set null,
  constraint fk_notification_user_id foreign key (user_id)
    references app_user (id) on delete cascade,
  constraint ck_notification_mode check (mode in ('immediate', 'hourly', 'daily', 'dropped')),
  constraint uq_notification_chapter_id_user_id unique (chapter_id, user_id)
);
create index ix_notification_digest_due on notification (user_id, mode, digest_at)
  where digest_id is null and mode in ('hourly', 'daily');
create index ix_notification_digest_id on notification (digest_id);
create index ix_notification_user_id_created_at on notification (user_id, created_at);
create index ix_notification_user_id_id on notification (user_id, id);

create table delivery (
  id bigint generated always as identity,
  -- About one chapter, about all of a digest, or about a job that somebody asked for.
  notification_id bigint,
  digest_id bigint,
  notice_id bigint,
  channel_id bigint not null,
  -- Held here as well so that the deliveries of one chapter are one index range.
  chapter_id bigint,
  job_key text,
  state text default 'pending' not null,
  attempts integer default 0 not null,
  next_attempt_at timestamptz default now() not null,
  sending_at timestamptz,
  sent_at timestamptz,
  last_error text,
  constraint pk_delivery primary key (id),
  constraint fk_delivery_channel_id foreign key (channel_id)
    references channel (id) on delete cascade,
  constraint fk_delivery_digest_id foreign key (digest_id)
    references digest (id) on delete cascade,
  constraint fk_delivery_notice_id foreign key (notice_id)
    references notice (id) on delete cascade,
  constraint fk_delivery_notification_id foreign key (notification_id)
    references notification (id) on delete cascade,
  constraint ck_delivery_one_subject check (num_nonnulls(notification_id, digest_id, notice_id) = 1),
  constraint ck_delivery_state check (state in ('pending', 'sending', 'sent', 'failed', 'unconfirmed', 'discarded')),
  constraint uq_delivery_digest_id_channel_id unique (digest_id, channel_id),
  constraint uq_delivery_notice_id_channel_id unique (notice_id, channel_id),
  constraint uq_delivery_notification_id_channel_id unique (notification_id, channel_id)
);
create index ix_delivery_sent_at on delivery (sent_at);
create index ix_delivery_unfinished on delivery (chapter_id) where state in ('pending', 'sending');
create index ix_delivery_unfinished_digest on delivery (digest_id)
  where digest_id is not null and state in ('pending', 'sending');
create index ix_delivery_unfinished_job on delivery (job_key)
  where job_key is not null and state in ('pending', 'sending');
