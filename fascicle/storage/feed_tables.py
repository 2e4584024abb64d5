"""Tables of the inbox (I1–I7): feeds, what was seen in them, canonical items, who subscribes, what they have.

A feed is a `source` like a series on a site: cadence, circuit, pause and next check stand there.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from fascicle.storage.table_parts import big_id, metadata, reference, time

feed = Table(
    "feed",
    metadata,
    Column("source_id", ForeignKey("source.id", ondelete="CASCADE"), primary_key=True),
    # Where it is fetched; the source's url is where people find it.
    Column("url", Text, nullable=False),
    Column("kind", Text),
    Column("site_url", Text),
    Column("description", Text),
    Column("language", Text),
    Column("image_url", Text),
    # Written together with the items of the very document they belong to: a crash cannot skip a document.
    Column("etag", Text),
    Column("last_modified", Text),
    Column("document_hash", Text),
    # A permanent redirect is believed after several sightings.
    Column("moved_to", Text),
    Column("moved_sightings", Integer, nullable=False, server_default="0"),
    time("gone_at"),
    # The newest date among all entries ever seen: what is older is no news after a flood.
    time("newest_published_at"),
    # What the site asked of us for the time until the next look.
    Column("patience_seconds", Integer),
)

item = Table(
    "item",
    metadata,
    big_id(),
    Column("provider", Text),
    Column("provider_item_id", Text),
    Column("url", Text),
    # The address without all that does not tell one page from another; null where an address is shared.
    Column("url_key", Text),
    Column("title", Text, nullable=False),
    # Sanitised HTML.
    Column("summary", Text),
    Column("content", Text),
    Column("author", Text),
    Column("image_url", Text),
    Column("media_url", Text),
    Column("media_type", Text),
    Column("duration_seconds", Integer),
    Column("language", Text),
    Column("categories", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    time("published_at"),
    # The feed whose edits it follows; others may only fill gaps.
    Column("source_id", ForeignKey("source.id", ondelete="SET NULL")),
    time("first_seen_at", required=True),
    time("updated_at", required=True),
    # Enrichment (I5).
    Column("enrich", Text, nullable=False, server_default="none"),
    time("enrich_due_at"),
    time("enriched_at"),
    Column("site_name", Text),
    Column("lead", Text),
    Column("lead_kind", Text),
    Column("words", Integer),
    Column("reading_minutes", Integer),
    Column("metadata", JSONB, nullable=False, server_default=text("'{}'")),
    CheckConstraint("enrich in ('none', 'due', 'done', 'failed')", name="enrich"),
    CheckConstraint("num_nulls(provider, provider_item_id) <> 1", name="provider"),
    Index("uq_item_provider", "provider", "provider_item_id", unique=True),
    Index("uq_item_url_key", "url_key", unique=True),
    Index("ix_item_enrich_due", "enrich_due_at", postgresql_where=text("enrich = 'due'")),
    Index("ix_item_source_id", "source_id"),
)

feed_item = Table(
    "feed_item",
    metadata,
    # Seen: it stays when the item is long forgotten, so that what reappears is no news (a tombstone).
    Column("source_id", ForeignKey("source.id", ondelete="CASCADE"), primary_key=True),
    Column("item_key", Text, primary_key=True),
    Column("item_id", ForeignKey("item.id", ondelete="SET NULL")),
    Column("url_key", Text),
    Column("title_key", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    time("published_at"),
    time("first_seen_at", required=True),
    # Of the document it was last in.
    time("last_seen_at", required=True),
    # Known before the feed was followed, or old things under new ids: nobody's inbox got it.
    Column("silent", Boolean, nullable=False, server_default=text("false")),
    Index("ix_feed_item_item_id", "item_id"),
    Index("ix_feed_item_source_id_first_seen_at", "source_id", "first_seen_at"),
    Index("ix_feed_item_source_id_title_key", "source_id", "title_key"),
    Index("ix_feed_item_source_id_url_key", "source_id", "url_key"),
)

subscription = Table(
    "subscription",
    metadata,
    Column("user_id", ForeignKey("app_user.id", ondelete="CASCADE"), primary_key=True),
    Column("source_id", ForeignKey("source.id", ondelete="CASCADE"), primary_key=True),
    Column("state", Text, nullable=False, server_default="ACTIVE"),
    # The person's own name for it, and the folder it is in (outer/inner), as OPML has them.
    Column("title", Text),
    Column("folder", Text),
    time("created_at", now=True),
    time("state_at", now=True),
    CheckConstraint("state in ('ACTIVE', 'PAUSED', 'UNSUBSCRIBED')", name="state"),
    Index("ix_subscription_active", "source_id", "user_id", postgresql_where=text("state = 'ACTIVE'")),
)

inbox_item = Table(
    "inbox_item",
    metadata,
    Column("user_id", ForeignKey("app_user.id", ondelete="CASCADE"), primary_key=True),
    Column("item_id", ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
    # Through which feed it came first.
    Column("source_id", ForeignKey("source.id", ondelete="SET NULL")),
    Column("state", Text, nullable=False, server_default="INBOX"),
    time("arrived_at", required=True),
    time("state_at"),
    CheckConstraint("state in ('INBOX', 'BOOKMARKED', 'ARCHIVED')", name="state"),
    Index("ix_inbox_item_user_id_state_arrived_at", "user_id", "state", "arrived_at"),
    Index("ix_inbox_item_item_id", "item_id"),
    Index("ix_inbox_item_source_id", "source_id"),
)

ingestion_run = Table(
    "ingestion_run",
    metadata,
    big_id(),
    reference("source_id", "source.id"),
    Column("replay_of", BigInteger),
    Column("outcome", Text, nullable=False),
    time("started_at", required=True),
    time("finished_at", required=True),
    Column("duration_ms", Integer, nullable=False),
    Column("http_status", Integer),
    Column("bytes", Integer),
    Column("entries", Integer, nullable=False, server_default="0"),
    Column("new", Integer, nullable=False, server_default="0"),
    Column("updated", Integer, nullable=False, server_default="0"),
    # Known entries that came under another id.
    Column("renamed", Integer, nullable=False, server_default="0"),
    # New to us, but history: nobody's inbox got them.
    Column("silent", Integer, nullable=False, server_default="0"),
    Column("failed", Integer, nullable=False, server_default="0"),
    # Rows that the inboxes gained.
    Column("delivered", Integer, nullable=False, server_default="0"),
    Column("flood", Boolean, nullable=False, server_default=text("false")),
    Column("error_code", Text),
    Column("error", Text),
    # The document as it came, compressed, of runs that had something to do: what a replay reads.
    Column("document", LargeBinary),
    Column("content_type", Text),
    CheckConstraint("outcome in ('first', 'new', 'idle', 'not_modified', 'failed')", name="outcome"),
    Index("ix_ingestion_run_source_id_id", "source_id", "id"),
    Index("ix_ingestion_run_started_at", "started_at"),
)
