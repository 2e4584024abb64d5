"""the first tables"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "app_user",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_app_user")),
        sa.UniqueConstraint("name", name=op.f("uq_app_user_name")),
    )
    op.create_table(
        "dead_letter",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("job_key", sa.Text(), nullable=False),
        sa.Column("workflow_id", sa.Text(), nullable=False),
        sa.Column("input", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("error", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("error_code", sa.Text(), nullable=False),
        sa.Column("retryable", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("occurrences", sa.Integer(), server_default="1", nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("first_failed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_failed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state in ('open', 'replayed', 'resolved', 'discarded')", name=op.f("ck_dead_letter_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letter")),
    )
    op.create_index("ix_dead_letter_job_key", "dead_letter", ["kind", "job_key"], unique=False)
    op.create_index(
        "uq_dead_letter_open",
        "dead_letter",
        ["kind", "job_key"],
        unique=True,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "gate",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("queue_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("blocked_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("blocked_reason", sa.Text(), nullable=True),
        sa.Column("delay_seconds", sa.Float(), nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_gate")),
    )
    op.create_table(
        "series",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("numbering_restarts", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("latest_chapter", sa.Numeric(), nullable=True),
        sa.Column("last_chapter_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
    )
    op.create_table(
        "channel",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_channel_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channel")),
        sa.UniqueConstraint("user_id", "url", name=op.f("uq_channel_user_id_url")),
    )
    op.create_table(
        "library_entry",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("series_id", sa.Text(), nullable=False),
        sa.Column("notify", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name=op.f("fk_library_entry_series_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_library_entry_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "series_id", name=op.f("pk_library_entry")),
    )
    op.create_index(
        "ix_library_entry_series_id_user_id", "library_entry", ["series_id", "user_id"], unique=False
    )
    op.create_table(
        "logical_chapter",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("series_id", sa.Text(), nullable=False),
        sa.Column("chapter_key", sa.Text(), nullable=False),
        sa.Column("number", sa.Numeric(), nullable=True),
        sa.Column("raw_number", sa.Text(), nullable=True),
        sa.Column("volume", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("first_detected_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("announce", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "announce in ('silent', 'owed', 'done')", name=op.f("ck_logical_chapter_announce")
        ),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name=op.f("fk_logical_chapter_series_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_logical_chapter")),
        sa.UniqueConstraint(
            "series_id", "chapter_key", name=op.f("uq_logical_chapter_series_id_chapter_key")
        ),
    )
    op.create_index(
        "ix_logical_chapter_owed",
        "logical_chapter",
        ["series_id"],
        unique=False,
        postgresql_where=sa.text("announce = 'owed'"),
    )
    op.create_table(
        "source",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("series_id", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("site_key", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("languages", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("cadence", sa.Text(), server_default="HOT", nullable=False),
        sa.Column("pinned_cadence", sa.Text(), nullable=True),
        sa.Column("circuit", sa.Text(), server_default="closed", nullable=False),
        sa.Column("failure_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_error_code", sa.Text(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("announce_history", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("first_synced_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("complete_listing_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_success_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_new_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_check_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_reason", sa.Text(), nullable=True),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("cadence in ('HOT', 'WARM', 'COLD')", name=op.f("ck_source_cadence")),
        sa.CheckConstraint("circuit in ('closed', 'open', 'half_open')", name=op.f("ck_source_circuit")),
        sa.ForeignKeyConstraint(
            ["series_id"], ["series.id"], name=op.f("fk_source_series_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source")),
        sa.UniqueConstraint("site", "site_key", name=op.f("uq_source_site_site_key")),
    )
    op.create_index("ix_source_series_id", "source", ["series_id"], unique=False)
    op.create_table(
        "chapter_source",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("chapter_id", sa.BigInteger(), nullable=False),
        sa.Column("chapter_key", sa.Text(), nullable=False),
        sa.Column("number", sa.Numeric(), nullable=True),
        sa.Column("raw_number", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("external", sa.Boolean(), nullable=False),
        sa.Column("first_detected_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("unavailable_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["chapter_id"],
            ["logical_chapter.id"],
            name=op.f("fk_chapter_source_chapter_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_chapter_source_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chapter_source")),
        sa.UniqueConstraint("source_id", "chapter_key", name=op.f("uq_chapter_source_source_id_chapter_key")),
    )
    op.create_index("ix_chapter_source_chapter_id", "chapter_source", ["chapter_id"], unique=False)
    op.create_table(
        "chapter_upload",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("upload_id", sa.Text(), nullable=False),
        sa.Column("chapter_key", sa.Text(), nullable=False),
        sa.Column("raw_number", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("group_name", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("volume", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("external", sa.Boolean(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=True),
        sa.Column("unavailable", sa.Boolean(), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["source.id"], name=op.f("fk_chapter_upload_source_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", "upload_id", name=op.f("pk_chapter_upload")),
    )
    op.create_index(
        "ix_chapter_upload_source_id_chapter_key",
        "chapter_upload",
        ["source_id", "chapter_key"],
        unique=False,
    )
    op.create_table(
        "notification",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("chapter_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["chapter_id"],
            ["logical_chapter.id"],
            name=op.f("fk_notification_chapter_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_notification_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification")),
        sa.UniqueConstraint("chapter_id", "user_id", name=op.f("uq_notification_chapter_id_user_id")),
    )
    op.create_index("ix_notification_user_id_id", "notification", ["user_id", "id"], unique=False)
    op.create_table(
        "delivery",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("notification_id", sa.BigInteger(), nullable=False),
        sa.Column("channel_id", sa.BigInteger(), nullable=False),
        sa.Column("chapter_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "next_attempt_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("sending_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state in ('pending', 'sending', 'sent', 'failed', 'unconfirmed', 'discarded')",
            name=op.f("ck_delivery_state"),
        ),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_delivery_channel_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["notification_id"],
            ["notification.id"],
            name=op.f("fk_delivery_notification_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint(
            "notification_id", "channel_id", name=op.f("uq_delivery_notification_id_channel_id")
        ),
    )
    op.create_index("ix_delivery_sent_at", "delivery", ["sent_at"], unique=False)
    op.create_index(
        "ix_delivery_unfinished",
        "delivery",
        ["chapter_id"],
        unique=False,
        postgresql_where=sa.text("state in ('pending', 'sending')"),
    )


def downgrade() -> None:
    op.drop_index(
        "ix_delivery_unfinished",
        table_name="delivery",
        postgresql_where=sa.text("state in ('pending', 'sending')"),
    )
    op.drop_index("ix_delivery_sent_at", table_name="delivery")
    op.drop_table("delivery")
    op.drop_index("ix_notification_user_id_id", table_name="notification")
    op.drop_table("notification")
    op.drop_index("ix_chapter_upload_source_id_chapter_key", table_name="chapter_upload")
    op.drop_table("chapter_upload")
    op.drop_index("ix_chapter_source_chapter_id", table_name="chapter_source")
    op.drop_table("chapter_source")
    op.drop_index("ix_source_series_id", table_name="source")
    op.drop_table("source")
    op.drop_index(
        "ix_logical_chapter_owed", table_name="logical_chapter", postgresql_where=sa.text("announce = 'owed'")
    )
    op.drop_table("logical_chapter")
    op.drop_index("ix_library_entry_series_id_user_id", table_name="library_entry")
    op.drop_table("library_entry")
    op.drop_table("channel")
    op.drop_table("series")
    op.drop_table("gate")
    op.drop_index("uq_dead_letter_open", table_name="dead_letter", postgresql_where=sa.text("state = 'open'"))
    op.drop_index("ix_dead_letter_job_key", table_name="dead_letter")
    op.drop_table("dead_letter")
    op.drop_table("app_user")
