"""The tables of publishing: accounts, posts and their files, automations, sales, mail.

Another program may write posts straight into them: whatever it leaves out has a default, and a column that is
null was left unset (automations fill those, and only those).
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from fascicle.storage.table_parts import big_id, metadata, reference, time

_RANDOM_ID = text("replace(gen_random_uuid()::text, '-', '')")
_UNFINISHED = "state in ('scheduled', 'uploading', 'publishing')"

account = Table(
    "account",
    metadata,
    Column("id", Text, primary_key=True),
    # Whose it is: their time zone is meant where a time has none, they get the mail.
    Column("user_id", ForeignKey("app_user.id", ondelete="SET NULL")),
    Column("site", Text, nullable=False, server_default="deviantart"),
    Column("site_user_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    # Encrypted, each bound to its account and kind (fascicle.storage.vault).
    Column("access_token", Text),
    Column("refresh_token", Text),
    time("access_expires_at"),
    time("refresh_expires_at"),
    # Counted up by each new pair: what is done once per token is done once per generation.
    Column("generation", Integer, nullable=False, server_default="0"),
    time("refreshed_at"),
    # Set: its posts wait until it is connected again.
    time("paused_at"),
    Column("paused_code", Text),
    Column("paused_reason", Text),
    time("created_at", now=True),
    UniqueConstraint("site", "site_user_id"),
    Index("ix_account_user_id", "user_id"),
)

post = Table(
    "post",
    metadata,
    Column("id", Text, primary_key=True, server_default=_RANDOM_ID),
    reference("account_id", "account.id"),
    Column("state", Text, nullable=False, server_default="draft"),
    Column("title", Text, nullable=False),
    Column("description", Text),
    Column("tags", ARRAY(Text)),
    Column("is_mature", Boolean),
    Column("mature_level", Text),
    Column("mature_classification", ARRAY(Text)),
    Column("gallery_ids", ARRAY(Text)),
    Column("display_resolution", Integer),
    Column("feature", Boolean),
    Column("allow_comments", Boolean),
    Column("allow_free_download", Boolean),
    Column("add_watermark", Boolean),
    Column("is_ai_generated", Boolean),
    Column("noai", Boolean),
    time("publish_at"),
    # Up to so many seconds later, drawn once.
    Column("jitter_seconds", Float, nullable=False, server_default="0"),
    # publish_at with its jitter; and the publish_at it was drawn for: another program may change that one.
    time("due_at"),
    time("planned_for"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("waiting_for", Text),
    Column("last_error_code", Text),
    Column("last_error", Text),
    time("published_at"),
    Column("automation_id", ForeignKey("automation.id", ondelete="SET NULL")),
    # When the reconciliation last saw to it that somebody looks after it.
    time("reconciled_at"),
    time("deleted_at"),
    time("created_at", now=True),
    time("updated_at", now=True),
    CheckConstraint(
        "state in ('draft', 'scheduled', 'uploading', 'publishing', 'published', 'failed', 'unconfirmed', "
        "'cancelled')",
        name="state",
    ),
    CheckConstraint(f"not ({_UNFINISHED}) or publish_at is not null", name="has_time"),
    # Up to a week; NaN is more than that.
    CheckConstraint("jitter_seconds between 0 and 604800", name="jitter_seconds"),
    CheckConstraint("isfinite(publish_at)", name="publish_at"),
    CheckConstraint("display_resolution between 0 and 8", name="display_resolution"),
    CheckConstraint("mature_level in ('strict', 'moderate')", name="mature_level"),
    # Who is next of an account, and what is late.
    Index("ix_post_account_due", "account_id", "due_at", postgresql_where=text(_UNFINISHED)),
    Index("ix_post_due", "due_at", postgresql_where=text(_UNFINISHED)),
    # What another program wrote: for a time nobody has planned for yet.
    Index(
        "ix_post_unplanned",
        "publish_at",
        postgresql_where=text(f"{_UNFINISHED} and planned_for is distinct from publish_at"),
    ),
    Index("ix_post_drafts", "account_id", "created_at", postgresql_where=text("state = 'draft'")),
    Index("ix_post_settled_badly", "updated_at", postgresql_where=text("state in ('unconfirmed', 'failed')")),
)

post_file = Table(
    "post_file",
    metadata,
    big_id(),
    reference("post_id", "post.id"),
    Column("position", Integer, nullable=False, server_default="1"),
    # Where it lies in the object store; several rows may name one object.
    Column("object_key", Text, nullable=False),
    Column("file_name", Text, nullable=False),
    Column("content_type", Text, nullable=False, server_default="application/octet-stream"),
    Column("size", BigInteger),
    # Null while `post create` is still bringing it in; who writes rows directly has stored it before.
    Column("stored_at", DateTime(timezone=True), server_default=func.now()),
    # The Sta.sh item, how often it was sent there, what the gallery held before.
    Column("item_id", Text),
    Column("submits", Integer, nullable=False, server_default="0"),
    Column("baseline", ARRAY(Text)),
    time("baseline_at"),
    # The publish intent, committed before the call; and what is known of its outcome.
    time("intent_at"),
    time("first_intent_at"),
    Column("intents", Integer, nullable=False, server_default="0"),
    # Calls whose outcome was never learnt; and whether a later one was refused because of it.
    Column("unclear", Integer, nullable=False, server_default="0"),
    Column("refused_as_published", Boolean, nullable=False, server_default=text("false")),
    time("published_at"),
    Column("deviation_id", Text),
    Column("url", Text),
    time("deleted_at"),
    UniqueConstraint("post_id", "position"),
    Index("ix_post_file_object_key", "object_key"),
    Index("ix_post_file_deleted", "deleted_at", postgresql_where=text("deleted_at is not null")),
    Index("ix_post_file_unstored", "id", postgresql_where=text("stored_at is null")),
)

post_event = Table(
    "post_event",
    metadata,
    big_id(),
    reference("post_id", "post.id"),
    time("at", now=True),
    Column("kind", Text, nullable=False),
    Column("detail", JSONB),
    Index("ix_post_event_post_id", "post_id", "id"),
)

automation = Table(
    "automation",
    metadata,
    Column("id", Text, primary_key=True),
    reference("account_id", "account.id"),
    Column("name", Text, nullable=False),
    Column("enabled", Boolean, nullable=False, server_default=text("true")),
    # One of fixed_time, fixed_interval, daily_quota, with its figures and days (fascicle.domain.automation).
    Column("rule", JSONB, nullable=False),
    Column("time_zone", Text, nullable=False, server_default="UTC"),
    Column("strategy", Text, nullable=False, server_default="fifo"),
    Column("defaults", JSONB, nullable=False, server_default=text("'{}'")),
    Column("jitter_seconds", Float, nullable=False, server_default="0"),
    # Set: what it publishes goes into the sale queue with this price preset.
    Column("sale", JSONB),
    # Windows before it was created or enabled again are not made up for.
    time("active_since", now=True),
    time("created_at", now=True),
    UniqueConstraint("account_id", "name"),
    CheckConstraint("strategy in ('random', 'fifo', 'lifo')", name="strategy"),
)

automation_run = Table(
    "automation_run",
    metadata,
    big_id(),
    reference("automation_id", "automation.id"),
    # The window it fired for: the unique key is what keeps a rule to one firing per window.
    Column("window_key", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("post_id", ForeignKey("post.id", ondelete="SET NULL")),
    Column("detail", JSONB),
    time("at", now=True),
    UniqueConstraint("automation_id", "window_key"),
    CheckConstraint("outcome in ('scheduled', 'no_drafts', 'missed', 'failed')", name="outcome"),
)

sale = Table(
    "sale",
    metadata,
    big_id(),
    reference("post_id", "post.id"),
    Column("price", JSONB, nullable=False),
    # waiting until the post is published, ready, claimed by a client until then, done or failed.
    Column("state", Text, nullable=False, server_default="waiting"),
    Column("claim", Text),
    Column("claimed_by", Text),
    time("claimed_until"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("last_error", Text),
    time("created_at", now=True),
    time("settled_at"),
    UniqueConstraint("post_id"),
    CheckConstraint("state in ('waiting', 'ready', 'claimed', 'done', 'failed', 'cancelled')", name="state"),
    Index("ix_sale_open", "id", postgresql_where=text("state in ('waiting', 'ready', 'claimed')")),
)

mail = Table(
    "mail",
    metadata,
    big_id(),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE")),
    Column("post_id", ForeignKey("post.id", ondelete="CASCADE")),
    Column("kind", Text, nullable=False),
    # Written with the event it tells of; the same event again is the same key, and no second mail.
    Column("dedup_key", Text, nullable=False, unique=True),
    Column("subject", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="pending"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    time("next_attempt_at", now=True),
    time("sending_at"),
    time("sent_at"),
    Column("last_error", Text),
    time("created_at", now=True),
    CheckConstraint("state in ('pending', 'sending', 'sent', 'failed', 'unconfirmed')", name="state"),
    Index("ix_mail_unfinished", "next_attempt_at", postgresql_where=text("state in ('pending', 'sending')")),
)
