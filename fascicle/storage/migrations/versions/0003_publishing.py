"""publishing: accounts, posts, automations, sales, mail; the circuit of a gate"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("site", sa.Text(), server_default="deviantart", nullable=False),
        sa.Column("site_user_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("access_token", sa.Text(), nullable=True),
        sa.Column("refresh_token", sa.Text(), nullable=True),
        sa.Column("access_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refresh_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("generation", sa.Integer(), server_default="0", nullable=False),
        sa.Column("refreshed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paused_code", sa.Text(), nullable=True),
        sa.Column("paused_reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_account_user_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("site", "site_user_id", name=op.f("uq_account_site_site_user_id")),
    )
    op.create_index("ix_account_user_id", "account", ["user_id"], unique=False)
    op.create_table(
        "automation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("rule", postgresql.JSONB(), nullable=False),
        sa.Column("time_zone", sa.Text(), server_default="UTC", nullable=False),
        sa.Column("strategy", sa.Text(), server_default="fifo", nullable=False),
        sa.Column("defaults", postgresql.JSONB(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("jitter_seconds", sa.Float(), server_default="0", nullable=False),
        sa.Column("sale", postgresql.JSONB(), nullable=True),
        sa.Column(
            "active_since", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("strategy in ('random', 'fifo', 'lifo')", name=op.f("ck_automation_strategy")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_automation_account_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_automation")),
        sa.UniqueConstraint("account_id", "name", name=op.f("uq_automation_account_id_name")),
    )
    op.create_table(
        "post",
        sa.Column(
            "id",
            sa.Text(),
            server_default=sa.text("replace(gen_random_uuid()::text, '-', '')"),
            nullable=False,
        ),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="draft", nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("is_mature", sa.Boolean(), nullable=True),
        sa.Column("mature_level", sa.Text(), nullable=True),
        sa.Column("mature_classification", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("gallery_ids", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("display_resolution", sa.Integer(), nullable=True),
        sa.Column("feature", sa.Boolean(), nullable=True),
        sa.Column("allow_comments", sa.Boolean(), nullable=True),
        sa.Column("allow_free_download", sa.Boolean(), nullable=True),
        sa.Column("add_watermark", sa.Boolean(), nullable=True),
        sa.Column("is_ai_generated", sa.Boolean(), nullable=True),
        sa.Column("noai", sa.Boolean(), nullable=True),
        sa.Column("publish_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("jitter_seconds", sa.Float(), server_default="0", nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("planned_for", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("waiting_for", sa.Text(), nullable=True),
        sa.Column("last_error_code", sa.Text(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("automation_id", sa.Text(), nullable=True),
        sa.Column("reconciled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("mature_level in ('strict', 'moderate')", name=op.f("ck_post_mature_level")),
        sa.CheckConstraint(
            "not (state in ('scheduled', 'uploading', 'publishing')) or publish_at is not null",
            name=op.f("ck_post_has_time"),
        ),
        sa.CheckConstraint(
            "state in ('draft', 'scheduled', 'uploading', 'publishing', 'published', 'failed', "
            "'unconfirmed', 'cancelled')",
            name=op.f("ck_post_state"),
        ),
        sa.CheckConstraint("display_resolution between 0 and 8", name=op.f("ck_post_display_resolution")),
        sa.CheckConstraint("jitter_seconds between 0 and 604800", name=op.f("ck_post_jitter_seconds")),
        sa.CheckConstraint("isfinite(publish_at)", name=op.f("ck_post_publish_at")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_post_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["automation_id"], ["automation.id"], name=op.f("fk_post_automation_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_post")),
    )
    op.create_index(
        "ix_post_account_due",
        "post",
        ["account_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("state in ('scheduled', 'uploading', 'publishing')"),
    )
    op.create_index(
        "ix_post_drafts",
        "post",
        ["account_id", "created_at"],
        unique=False,
        postgresql_where=sa.text("state = 'draft'"),
    )
    op.create_index(
        "ix_post_due",
        "post",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("state in ('scheduled', 'uploading', 'publishing')"),
    )
    op.create_index(
        "ix_post_settled_badly",
        "post",
        ["updated_at"],
        unique=False,
        postgresql_where=sa.text("state in ('unconfirmed', 'failed')"),
    )
    op.create_index(
        "ix_post_unplanned",
        "post",
        ["publish_at"],
        unique=False,
        postgresql_where=sa.text(
            "state in ('scheduled', 'uploading', 'publishing') and planned_for is distinct from publish_at"
        ),
    )
    op.create_table(
        "automation_run",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("automation_id", sa.Text(), nullable=False),
        sa.Column("window_key", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("post_id", sa.Text(), nullable=True),
        sa.Column("detail", postgresql.JSONB(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "outcome in ('scheduled', 'no_drafts', 'missed', 'failed')",
            name=op.f("ck_automation_run_outcome"),
        ),
        sa.ForeignKeyConstraint(
            ["automation_id"],
            ["automation.id"],
            name=op.f("fk_automation_run_automation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["post_id"], ["post.id"], name=op.f("fk_automation_run_post_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_automation_run")),
        sa.UniqueConstraint(
            "automation_id", "window_key", name=op.f("uq_automation_run_automation_id_window_key")
        ),
    )
    op.create_table(
        "mail",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=True),
        sa.Column("post_id", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("dedup_key", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "next_attempt_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("sending_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "state in ('pending', 'sending', 'sent', 'failed', 'unconfirmed')", name=op.f("ck_mail_state")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_mail_account_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["post_id"], ["post.id"], name=op.f("fk_mail_post_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail")),
        sa.UniqueConstraint("dedup_key", name=op.f("uq_mail_dedup_key")),
    )
    op.create_index(
        "ix_mail_unfinished",
        "mail",
        ["next_attempt_at"],
        unique=False,
        postgresql_where=sa.text("state in ('pending', 'sending')"),
    )
    op.create_table(
        "post_event",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("post_id", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("detail", postgresql.JSONB(), nullable=True),
        sa.ForeignKeyConstraint(
            ["post_id"], ["post.id"], name=op.f("fk_post_event_post_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_post_event")),
    )
    op.create_index("ix_post_event_post_id", "post_event", ["post_id", "id"], unique=False)
    op.create_table(
        "post_file",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("post_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), server_default="1", nullable=False),
        sa.Column("object_key", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("content_type", sa.Text(), server_default="application/octet-stream", nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("stored_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=True),
        sa.Column("item_id", sa.Text(), nullable=True),
        sa.Column("submits", sa.Integer(), server_default="0", nullable=False),
        sa.Column("baseline", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("baseline_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("intent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("first_intent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("intents", sa.Integer(), server_default="0", nullable=False),
        sa.Column("unclear", sa.Integer(), server_default="0", nullable=False),
        sa.Column("refused_as_published", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deviation_id", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["post_id"], ["post.id"], name=op.f("fk_post_file_post_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_post_file")),
        sa.UniqueConstraint("post_id", "position", name=op.f("uq_post_file_post_id_position")),
    )
    op.create_index(
        "ix_post_file_deleted",
        "post_file",
        ["deleted_at"],
        unique=False,
        postgresql_where=sa.text("deleted_at is not null"),
    )
    op.create_index("ix_post_file_object_key", "post_file", ["object_key"], unique=False)
    op.create_index(
        "ix_post_file_unstored",
        "post_file",
        ["id"],
        unique=False,
        postgresql_where=sa.text("stored_at is null"),
    )
    op.create_table(
        "sale",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("post_id", sa.Text(), nullable=False),
        sa.Column("price", postgresql.JSONB(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("claim", sa.Text(), nullable=True),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state in ('waiting', 'ready', 'claimed', 'done', 'failed', 'cancelled')",
            name=op.f("ck_sale_state"),
        ),
        sa.ForeignKeyConstraint(["post_id"], ["post.id"], name=op.f("fk_sale_post_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sale")),
        sa.UniqueConstraint("post_id", name=op.f("uq_sale_post_id")),
    )
    op.create_index(
        "ix_sale_open",
        "sale",
        ["id"],
        unique=False,
        postgresql_where=sa.text("state in ('waiting', 'ready', 'claimed')"),
    )
    op.add_column(
        "app_user",
        sa.Column("time_zone_chosen", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column("app_user", sa.Column("email", sa.Text(), nullable=True))
    op.add_column("gate", sa.Column("refusals", sa.Integer(), server_default="0", nullable=False))
    op.add_column("gate", sa.Column("open_until", sa.DateTime(timezone=True), nullable=True))
    # Whoever has another zone than the default has chosen it.
    op.execute("update app_user set time_zone_chosen = true where time_zone <> 'UTC'")


def downgrade() -> None:
    for table in (
        "mail",
        "sale",
        "automation_run",
        "post_event",
        "post_file",
        "post",
        "automation",
        "account",
    ):
        op.drop_table(table)
    for column in ("refusals", "open_until"):
        op.drop_column("gate", column)
    for column in ("time_zone_chosen", "email"):
        op.drop_column("app_user", column)
