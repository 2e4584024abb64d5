"""The tables. Times are timestamptz in UTC; natural keys carry unique constraints, for they are the truth
about duplicates."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    Numeric,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from fascicle.storage import feed_tables, fic_tables, payload_tables, publishing_tables, request_tables
from fascicle.storage.table_parts import big_id, metadata, reference, time

__all__ = [
    "feed_tables",
    "fic_tables",
    "metadata",
    "payload_tables",
    "publishing_tables",
    "request_tables",
]

_MODES = "mode in ('immediate', 'hourly', 'daily', 'off')"

series = Table(
    "series",
    metadata,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    # Numbering that begins anew in each volume puts the volume into the chapter key.
    Column("numbering_restarts", Boolean, nullable=False, server_default=text("false")),
    Column("latest_chapter", Numeric),
    time("last_chapter_at"),
    time("created_at", now=True),
)

source = Table(
    "source",
    metadata,
    Column("id", Text, primary_key=True),
    # A series on a site; null: a feed, whose instalments are items instead of chapters.
    Column("series_id", ForeignKey("series.id", ondelete="CASCADE")),
    Column("site", Text, nullable=False),
    Column("site_key", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("languages", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("cadence", Text, nullable=False, server_default="HOT"),
    Column("pinned_cadence", Text),
    Column("circuit", Text, nullable=False, server_default="closed"),
    Column("failure_count", Integer, nullable=False, server_default="0"),
    Column("last_error_code", Text),
    Column("last_error", Text),
    # How often in a row the worker ended during its poll, and the poll under way (storage/source_loss.py).
    Column("losses", Integer, nullable=False, server_default="0"),
    time("poll_begun_at"),
    # What was done without when its document was last read.
    Column("note", Text),
    # What the first sync finds is history; unless the person who added the source asked to be told.
    Column("announce_history", Boolean, nullable=False, server_default=text("false")),
    time("first_synced_at"),
    time("complete_listing_at"),
    time("last_checked_at"),
    time("last_success_at"),
    time("last_new_at"),
    time("next_check_at"),
    Column("next_check_reason", Text),
    # A look of its own found what the sweep should have told it of.
    time("sweep_missed_at"),
    time("paused_at"),
    Column("paused_reason", Text),
    time("removed_at"),
    time("created_at", now=True),
    UniqueConstraint("site", "site_key"),
    CheckConstraint("cadence in ('HOT', 'WARM', 'COLD')", name="cadence"),
    CheckConstraint("circuit in ('closed', 'open', 'half_open')", name="circuit"),
    Index("ix_source_series_id", "series_id"),
    Index("ix_source_suspected", "id", postgresql_where=text("losses > 0")),
    # New ones, and those of a restored database: looked for every minute.
    Index("ix_source_without_plan", "id", postgresql_where=text("next_check_at is null")),
)

logical_chapter = Table(
    "logical_chapter",
    metadata,
    big_id(),
    reference("series_id", "series.id"),
    Column("chapter_key", Text, nullable=False),
    Column("number", Numeric),
    Column("raw_number", Text),
    Column("volume", Text),
    Column("title", Text),
    time("published_at"),
    time("first_detected_at", required=True),
    time("updated_at", required=True),
    # Committed with the row itself, so that a crash between storing and telling cannot forget the telling.
    Column("announce", Text, nullable=False),
    time("owed_at"),
    # Counted up by each new reason to tell, so that one which comes while others are told is not overlooked.
    Column("owed_round", Integer, nullable=False, server_default="0"),
    time("announced_at"),
    UniqueConstraint("series_id", "chapter_key"),
    CheckConstraint("announce in ('silent', 'owed', 'done')", name="announce"),
    Index("ix_logical_chapter_owed", "series_id", postgresql_where=text("announce = 'owed'")),
)

chapter_source = Table(
    "chapter_source",
    metadata,
    big_id(),
    reference("source_id", "source.id"),
    reference("chapter_id", "logical_chapter.id"),
    Column("chapter_key", Text, nullable=False),
    Column("number", Numeric),
    Column("raw_number", Text),
    Column("url", Text, nullable=False),
    Column("external", Boolean, nullable=False),
    time("first_detected_at", required=True),
    time("last_seen_at", required=True),
    time("unavailable_at"),
    UniqueConstraint("source_id", "chapter_key"),
    Index("ix_chapter_source_chapter_id", "chapter_id"),
)

chapter_upload = Table(
    "chapter_upload",
    metadata,
    Column("source_id", ForeignKey("source.id", ondelete="CASCADE"), primary_key=True),
    Column("upload_id", Text, primary_key=True),
    Column("chapter_key", Text, nullable=False),
    Column("raw_number", Text),
    Column("language", Text),
    Column("group_name", Text),
    Column("title", Text),
    Column("volume", Text),
    Column("url", Text, nullable=False),
    Column("external", Boolean, nullable=False),
    Column("pages", Integer),
    Column("unavailable", Boolean, nullable=False),
    time("published_at"),
    time("first_seen_at", required=True),
    time("last_seen_at", required=True),
    Index("ix_chapter_upload_source_id_chapter_key", "source_id", "chapter_key"),
)

app_user = Table(
    "app_user",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    # How and how often this person is told; an entry of the library may say otherwise for its series.
    Column("mode", Text, nullable=False, server_default="immediate"),
    Column("languages", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("time_zone", Text, nullable=False, server_default="UTC"),
    # Until they chose one, a time without a zone is nobody's.
    Column("time_zone_chosen", Boolean, nullable=False, server_default=text("false")),
    Column("email", Text),
    Column("digest_hour", Integer, nullable=False, server_default="9"),
    Column("daily_cap", Integer),
    time("created_at", now=True),
    CheckConstraint(_MODES, name="mode"),
    CheckConstraint("digest_hour between 0 and 23", name="digest_hour"),
)

channel = Table(
    "channel",
    metadata,
    big_id(),
    # Null: it is nobody's but the installation's, for what `purpose` says.
    Column("user_id", ForeignKey("app_user.id", ondelete="CASCADE")),
    Column("purpose", Text),
    Column("kind", Text, nullable=False),
    # Sealed for the user or the purpose (fascicle.storage.channel).
    Column("url", Text, nullable=False),
    time("created_at", now=True),
    Index("ix_channel_user_id", "user_id"),
    CheckConstraint("num_nonnulls(user_id, purpose) = 1", name="somebodys"),
    Index("uq_channel_purpose", "purpose", unique=True),
)

library_entry = Table(
    "library_entry",
    metadata,
    Column("user_id", ForeignKey("app_user.id", ondelete="CASCADE"), primary_key=True),
    Column("series_id", ForeignKey("series.id", ondelete="CASCADE"), primary_key=True),
    Column("notify", Boolean, nullable=False, server_default=text("true")),
    Column("mode", Text),
    Column("languages", ARRAY(Text)),
    # A site's name or a source's id: whose link a message carries if it has the chapter.
    Column("preferred_source", Text),
    # Everything up to here was read; the volume counts only where numbering restarts.
    Column("read_number", Numeric),
    Column("read_volume", Numeric),
    time("created_at", now=True),
    CheckConstraint(_MODES, name="mode"),
    Index("ix_library_entry_series_id_user_id", "series_id", "user_id"),
)

digest = Table(
    "digest",
    metadata,
    big_id(),
    reference("user_id", "app_user.id"),
    Column("mode", Text, nullable=False),
    time("created_at", now=True),
)

notification = Table(
    "notification",
    metadata,
    big_id(),
    reference("user_id", "app_user.id"),
    reference("chapter_id", "logical_chapter.id"),
    # `immediate`, or the digest it goes into; `dropped` when it had become pointless before the digest came.
    Column("mode", Text, nullable=False, server_default="immediate"),
    time("digest_at"),
    Column("digest_id", ForeignKey("digest.id", ondelete="SET NULL")),
    time("created_at", now=True),
    UniqueConstraint("chapter_id", "user_id"),
    CheckConstraint("mode in ('immediate', 'hourly', 'daily', 'dropped')", name="mode"),
    Index("ix_notification_user_id_id", "user_id", "id"),
    Index("ix_notification_user_id_created_at", "user_id", "created_at"),
    Index("ix_notification_digest_id", "digest_id"),
    Index(
        "ix_notification_digest_due",
        "user_id",
        "mode",
        "digest_at",
        postgresql_where=text("digest_id is null and mode in ('hourly', 'daily')"),
    ),
)

# What people are told of a job they asked for: a fic, a request. Its words are settled when it is made.
notice = Table(
    "notice",
    metadata,
    big_id(),
    # A fic's key, or the workflow's id of a request.
    Column("job_key", Text, nullable=False),
    Column("round", Integer, nullable=False),
    Column("event", Text, nullable=False),
    # Null: the community's channel.
    Column("user_id", ForeignKey("app_user.id", ondelete="CASCADE")),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    time("created_at", now=True),
    # When they had the answer at the counter already.
    time("answered_at"),
    UniqueConstraint("job_key", "round", "event", "user_id", postgresql_nulls_not_distinct=True),
    CheckConstraint("event in ('start', 'done', 'failed')", name="event"),
)

delivery = Table(
    "delivery",
    metadata,
    big_id(),
    # About one chapter, about all of a digest, or about a job that somebody asked for.
    Column("notification_id", ForeignKey("notification.id", ondelete="CASCADE")),
    Column("digest_id", ForeignKey("digest.id", ondelete="CASCADE")),
    Column("notice_id", ForeignKey("notice.id", ondelete="CASCADE")),
    reference("channel_id", "channel.id"),
    # Held here as well so that the deliveries of one chapter are one index range.
    Column("chapter_id", BigInteger),
    Column("job_key", Text),
    Column("state", Text, nullable=False, server_default="pending"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    time("next_attempt_at", now=True),
    time("sending_at"),
    time("sent_at"),
    Column("last_error", Text),
    UniqueConstraint("notification_id", "channel_id"),
    UniqueConstraint("digest_id", "channel_id"),
    UniqueConstraint("notice_id", "channel_id"),
    CheckConstraint("num_nonnulls(notification_id, digest_id, notice_id) = 1", name="one_subject"),
    CheckConstraint(
        "state in ('pending', 'sending', 'sent', 'failed', 'unconfirmed', 'discarded')", name="state"
    ),
    Index("ix_delivery_sent_at", "sent_at"),
    Index(
        "ix_delivery_unfinished",
        "chapter_id",
        postgresql_where=text("state in ('pending', 'sending')"),
    ),
    Index(
        "ix_delivery_unfinished_digest",
        "digest_id",
        postgresql_where=text("digest_id is not null and state in ('pending', 'sending')"),
    ),
    Index(
        "ix_delivery_unfinished_job",
        "job_key",
        postgresql_where=text("job_key is not null and state in ('pending', 'sending')"),
    ),
)

gate = Table(
    "gate",
    metadata,
    Column("name", Text, primary_key=True),
    # The next free instant; the end of the queue of those told to come back; a site's own "not before".
    time("next_at", required=True),
    time("queue_until", required=True),
    time("blocked_until", required=True),
    Column("blocked_reason", Text),
    Column("delay_seconds", Float, nullable=False),
    Column("failures", Integer, nullable=False, server_default="0"),
    # Refusals for coming too often, in a row; enough of them open the circuit until then (P4).
    Column("refusals", Integer, nullable=False, server_default="0"),
    time("open_until"),
    # Who has the gate, where only one may be on the way at a time (F3).
    Column("turn", BigInteger, nullable=False, server_default="0"),
    # Jobs until the next longer pause.
    Column("jobs_left", Integer),
    # A person's word: nobody goes there until it is taken back.
    time("paused_at"),
    Column("paused_reason", Text),
    time("updated_at", now=True),
)

sweep = Table(
    "sweep",
    metadata,
    Column("site", Text, primary_key=True),
    # How far the list of news has been read and the sources woken; opaque but to fascicle.domain.sweep.
    Column("cursor", JSONB),
    time("last_success_at"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("last_error", Text),
)

import_entry = Table(
    "import_entry",
    metadata,
    # The digest of the file's contents: the same file again goes on where it was.
    Column("fingerprint", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("title", Text),
    Column("url", Text),
    Column("state", Text, nullable=False, server_default="pending"),
    Column("source_id", Text),
    # Why it failed or is doubtful, and the candidates to choose from.
    Column("detail", JSONB),
    time("updated_at", now=True),
    CheckConstraint("state in ('pending', 'added', 'present', 'doubtful', 'failed')", name="state"),
)

dead_letter = Table(
    "dead_letter",
    metadata,
    big_id(),
    Column("kind", Text, nullable=False),
    Column("job_key", Text, nullable=False),
    Column("workflow_id", Text, nullable=False),
    Column("input", JSONB, nullable=False),
    Column("error", JSONB, nullable=False),
    Column("error_code", Text, nullable=False),
    Column("retryable", Boolean, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("occurrences", Integer, nullable=False, server_default="1"),
    Column("state", Text, nullable=False, server_default="open"),
    time("first_failed_at", required=True),
    time("last_failed_at", required=True),
    time("settled_at"),
    CheckConstraint("state in ('open', 'replayed', 'resolved', 'discarded')", name="state"),
    # One open letter a job: failing again adds to it instead of piling up.
    Index("uq_dead_letter_open", "kind", "job_key", unique=True, postgresql_where=text("state = 'open'")),
    Index("ix_dead_letter_job_key", "kind", "job_key"),
)
