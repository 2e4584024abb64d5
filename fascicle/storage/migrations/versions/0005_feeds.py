"""feeds: items, what was seen of them, subscriptions, inboxes, runs"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feed",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column("site_url", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("image_url", sa.Text(), nullable=True),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("document_hash", sa.Text(), nullable=True),
        sa.Column("moved_to", sa.Text(), nullable=True),
        sa.Column("moved_sightings", sa.Integer(), server_default="0", nullable=False),
        sa.Column("gone_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("newest_published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("patience_seconds", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_feed_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_feed")),
    )
    op.create_table(
        "ingestion_run",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("replay_of", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("bytes", sa.Integer(), nullable=True),
        sa.Column("entries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("new", sa.Integer(), server_default="0", nullable=False),
        sa.Column("updated", sa.Integer(), server_default="0", nullable=False),
        sa.Column("renamed", sa.Integer(), server_default="0", nullable=False),
        sa.Column("silent", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failed", sa.Integer(), server_default="0", nullable=False),
        sa.Column("delivered", sa.Integer(), server_default="0", nullable=False),
        sa.Column("flood", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.Column("content_type", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "outcome in ('first', 'new', 'idle', 'not_modified', 'failed')",
            name=op.f("ck_ingestion_run_outcome"),
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_ingestion_run_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ingestion_run")),
    )
    op.create_index("ix_ingestion_run_source_id_id", "ingestion_run", ["source_id", "id"], unique=False)
    op.create_index("ix_ingestion_run_started_at", "ingestion_run", ["started_at"], unique=False)
    op.create_table(
        "item",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("provider", sa.Text(), nullable=True),
        sa.Column("provider_item_id", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("url_key", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("image_url", sa.Text(), nullable=True),
        sa.Column("media_url", sa.Text(), nullable=True),
        sa.Column("media_type", sa.Text(), nullable=True),
        sa.Column("duration_seconds", sa.Integer(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("categories", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("source_id", sa.Text(), nullable=True),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("enrich", sa.Text(), server_default="none", nullable=False),
        sa.Column("enrich_due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("enriched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("site_name", sa.Text(), nullable=True),
        sa.Column("lead", sa.Text(), nullable=True),
        sa.Column("lead_kind", sa.Text(), nullable=True),
        sa.Column("words", sa.Integer(), nullable=True),
        sa.Column("reading_minutes", sa.Integer(), nullable=True),
        sa.Column("metadata", postgresql.JSONB(), server_default=sa.text("'{}'"), nullable=False),
        sa.CheckConstraint("enrich in ('none', 'due', 'done', 'failed')", name=op.f("ck_item_enrich")),
        sa.CheckConstraint("num_nulls(provider, provider_item_id) <> 1", name=op.f("ck_item_provider")),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_item_source_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
    )
    op.create_index(
        "ix_item_enrich_due",
        "item",
        ["enrich_due_at"],
        unique=False,
        postgresql_where=sa.text("enrich = 'due'"),
    )
    op.create_index("ix_item_source_id", "item", ["source_id"], unique=False)
    op.create_index("uq_item_provider", "item", ["provider", "provider_item_id"], unique=True)
    op.create_index("uq_item_url_key", "item", ["url_key"], unique=True)
    op.create_table(
        "subscription",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="ACTIVE", nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("folder", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("state_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "state in ('ACTIVE', 'PAUSED', 'UNSUBSCRIBED')", name=op.f("ck_subscription_state")
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_subscription_source_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_subscription_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "source_id", name=op.f("pk_subscription")),
    )
    op.create_index(
        "ix_subscription_active",
        "subscription",
        ["source_id", "user_id"],
        unique=False,
        postgresql_where=sa.text("state = 'ACTIVE'"),
    )
    op.create_table(
        "feed_item",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=True),
        sa.Column("url_key", sa.Text(), nullable=True),
        sa.Column("title_key", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("silent", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(
            ["item_id"], ["item.id"], name=op.f("fk_feed_item_item_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_feed_item_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", "item_key", name=op.f("pk_feed_item")),
    )
    op.create_index("ix_feed_item_item_id", "feed_item", ["item_id"], unique=False)
    op.create_index(
        "ix_feed_item_source_id_first_seen_at", "feed_item", ["source_id", "first_seen_at"], unique=False
    )
    op.create_index("ix_feed_item_source_id_title_key", "feed_item", ["source_id", "title_key"], unique=False)
    op.create_index("ix_feed_item_source_id_url_key", "feed_item", ["source_id", "url_key"], unique=False)
    op.create_table(
        "inbox_item",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default="INBOX", nullable=False),
        sa.Column("arrived_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state in ('INBOX', 'BOOKMARKED', 'ARCHIVED')", name=op.f("ck_inbox_item_state")),
        sa.ForeignKeyConstraint(
            ["item_id"], ["item.id"], name=op.f("fk_inbox_item_item_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_inbox_item_source_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_inbox_item_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "item_id", name=op.f("pk_inbox_item")),
    )
    op.create_index("ix_inbox_item_item_id", "inbox_item", ["item_id"], unique=False)
    op.create_index("ix_inbox_item_source_id", "inbox_item", ["source_id"], unique=False)
    op.create_index(
        "ix_inbox_item_user_id_state_arrived_at",
        "inbox_item",
        ["user_id", "state", "arrived_at"],
        unique=False,
    )
    op.alter_column("source", "series_id", existing_type=sa.TEXT(), nullable=True)


def downgrade() -> None:
    for table in ("inbox_item", "feed_item", "subscription", "item", "ingestion_run", "feed"):
        op.drop_table(table)
    op.execute("delete from source where series_id is null")
    op.alter_column("source", "series_id", nullable=False)
