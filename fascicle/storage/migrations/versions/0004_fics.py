"""fics: what was read, the queue, subscribers, notices; a gate that only one may be past at a time"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "fic",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("site_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("authors", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("author_urls", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("fandoms", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column(
            "relationships", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("characters", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("warnings", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("categories", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("rating", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("words", sa.Integer(), nullable=True),
        sa.Column("chapters", sa.Integer(), nullable=True),
        sa.Column("chapters_total", sa.Integer(), nullable=True),
        sa.Column("complete", sa.Boolean(), nullable=True),
        sa.Column("published_on", sa.Date(), nullable=True),
        sa.Column("updated_on", sa.Date(), nullable=True),
        sa.Column("restricted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("change_token", sa.Text(), nullable=True),
        sa.Column("series", postgresql.JSONB(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("works_total", sa.Integer(), nullable=True),
        sa.Column("hidden_works", sa.Integer(), server_default="0", nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind in ('work', 'series')", name=op.f("ck_fic_kind")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_fic")),
    )
    op.create_table(
        "fic_job",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("site_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("round", sa.Integer(), server_default="1", nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_url", sa.Text(), nullable=True),
        sa.Column("requests", sa.Integer(), server_default="0", nullable=False),
        sa.Column("pages", postgresql.JSONB(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("works", postgresql.JSONB(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("waiting_for", sa.Text(), nullable=True),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("reasons", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "state in ('pending', 'processing', 'done', 'error', 'nOTP', 'series-done')",
            name=op.f("ck_fic_job_state"),
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_fic_job")),
    )
    op.create_index("ix_fic_job_finished_at", "fic_job", ["finished_at"], unique=False)
    op.create_index(
        "ix_fic_job_queue",
        "fic_job",
        ["site", "queued_at", "key"],
        unique=False,
        postgresql_where=sa.text("state in ('pending', 'processing')"),
    )
    op.create_table(
        "fic_override",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("moderator", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_fic_override")),
    )
    op.create_table(
        "discord_reply",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_key", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("application_id", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("channel_id", sa.Text(), nullable=True),
        sa.Column("discord_user_id", sa.Text(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "next_attempt_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("state in ('open', 'settled', 'lost')", name=op.f("ck_discord_reply_state")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_discord_reply_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_discord_reply")),
    )
    op.create_index(
        "ix_discord_reply_open",
        "discord_reply",
        ["job_key"],
        unique=False,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "notice",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_key", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("event in ('start', 'done', 'failed')", name=op.f("ck_notice_event")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_notice_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notice")),
        sa.UniqueConstraint(
            "job_key",
            "round",
            "event",
            "user_id",
            name=op.f("uq_notice_job_key_round_event_user_id"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "fic_page",
        sa.Column("job_key", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("given", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("job_key", "url", name=op.f("pk_fic_page")),
    )
    op.create_table(
        "fic_series_work",
        sa.Column("series_key", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=True),
        sa.Column("work_key", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["series_key"], ["fic.key"], name=op.f("fk_fic_series_work_series_key"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["work_key"], ["fic.key"], name=op.f("fk_fic_series_work_work_key"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("series_key", "position", name=op.f("pk_fic_series_work")),
    )
    op.create_table(
        "fic_subscriber",
        sa.Column("job_key", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("waits_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "subscribed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["job_key"], ["fic_job.key"], name=op.f("fk_fic_subscriber_job_key"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_fic_subscriber_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_key", "user_id", name=op.f("pk_fic_subscriber")),
    )
    op.create_index("ix_fic_subscriber_user_id", "fic_subscriber", ["user_id"], unique=False)
    op.add_column("channel", sa.Column("purpose", sa.Text(), nullable=True))
    op.alter_column("channel", "user_id", existing_type=sa.TEXT(), nullable=True)
    op.create_index("uq_channel_purpose", "channel", ["purpose"], unique=True)
    op.add_column("delivery", sa.Column("notice_id", sa.BigInteger(), nullable=True))
    op.add_column("delivery", sa.Column("job_key", sa.Text(), nullable=True))
    op.create_index(
        "ix_delivery_unfinished_job",
        "delivery",
        ["job_key"],
        unique=False,
        postgresql_where=sa.text("job_key is not null and state in ('pending', 'sending')"),
    )
    op.create_unique_constraint(
        op.f("uq_delivery_notice_id_channel_id"), "delivery", ["notice_id", "channel_id"]
    )
    op.create_foreign_key(
        op.f("fk_delivery_notice_id"),
        "delivery",
        "notice",
        ["notice_id"],
        ["id"],
        ondelete="CASCADE",
    )
    op.add_column("gate", sa.Column("turn", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("gate", sa.Column("jobs_left", sa.Integer(), nullable=True))
    op.create_check_constraint(op.f("ck_channel_somebodys"), "channel", "num_nonnulls(user_id, purpose) = 1")
    op.drop_constraint(op.f("ck_delivery_one_subject"), "delivery")
    op.create_check_constraint(
        op.f("ck_delivery_one_subject"),
        "delivery",
        "num_nonnulls(notification_id, digest_id, notice_id) = 1",
    )


def downgrade() -> None:
    op.execute("delete from delivery where notice_id is not null")
    op.execute("delete from channel where user_id is null")
    op.drop_constraint(op.f("ck_delivery_one_subject"), "delivery")
    op.drop_column("delivery", "job_key")
    op.drop_column("delivery", "notice_id")
    op.create_check_constraint(
        op.f("ck_delivery_one_subject"), "delivery", "num_nonnulls(notification_id, digest_id) = 1"
    )
    op.drop_constraint(op.f("ck_channel_somebodys"), "channel")
    op.drop_column("channel", "purpose")
    op.alter_column("channel", "user_id", nullable=False)
    op.drop_column("gate", "jobs_left")
    op.drop_column("gate", "turn")
    for table in (
        "discord_reply",
        "notice",
        "fic_subscriber",
        "fic_page",
        "fic_job",
        "fic_override",
        "fic_series_work",
        "fic",
    ):
        op.drop_table(table)
