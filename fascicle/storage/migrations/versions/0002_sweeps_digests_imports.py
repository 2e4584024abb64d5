"""sweeps, digests, imports, and what people wish of their notifications"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "import_entry",
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("source_id", sa.Text(), nullable=True),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "state in ('pending', 'added', 'present', 'doubtful', 'failed')",
            name=op.f("ck_import_entry_state"),
        ),
        sa.PrimaryKeyConstraint("fingerprint", "position", name=op.f("pk_import_entry")),
    )
    op.create_table(
        "sweep",
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("cursor", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("last_success_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("site", name=op.f("pk_sweep")),
    )
    op.create_table(
        "digest",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_digest_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_digest")),
    )
    op.add_column("app_user", sa.Column("mode", sa.Text(), server_default="immediate", nullable=False))
    op.add_column(
        "app_user",
        sa.Column("languages", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
    )
    op.add_column("app_user", sa.Column("time_zone", sa.Text(), server_default="UTC", nullable=False))
    op.add_column("app_user", sa.Column("digest_hour", sa.Integer(), server_default="9", nullable=False))
    op.add_column("app_user", sa.Column("daily_cap", sa.Integer(), nullable=True))
    op.add_column("delivery", sa.Column("digest_id", sa.BigInteger(), nullable=True))
    op.alter_column("delivery", "notification_id", existing_type=sa.BIGINT(), nullable=True)
    op.alter_column("delivery", "chapter_id", existing_type=sa.BIGINT(), nullable=True)
    op.create_index(
        "ix_delivery_unfinished_digest",
        "delivery",
        ["digest_id"],
        unique=False,
        postgresql_where=sa.text("digest_id is not null and state in ('pending', 'sending')"),
    )
    op.create_unique_constraint(
        op.f("uq_delivery_digest_id_channel_id"), "delivery", ["digest_id", "channel_id"]
    )
    op.create_foreign_key(
        op.f("fk_delivery_digest_id"), "delivery", "digest", ["digest_id"], ["id"], ondelete="CASCADE"
    )
    op.add_column("library_entry", sa.Column("mode", sa.Text(), nullable=True))
    op.add_column("library_entry", sa.Column("languages", postgresql.ARRAY(sa.Text()), nullable=True))
    op.add_column("library_entry", sa.Column("preferred_source", sa.Text(), nullable=True))
    op.add_column("library_entry", sa.Column("read_number", sa.Numeric(), nullable=True))
    op.add_column("library_entry", sa.Column("read_volume", sa.Numeric(), nullable=True))
    op.add_column("notification", sa.Column("mode", sa.Text(), server_default="immediate", nullable=False))
    op.add_column("notification", sa.Column("digest_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("notification", sa.Column("digest_id", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_notification_digest_due",
        "notification",
        ["user_id", "mode", "digest_at"],
        unique=False,
        postgresql_where=sa.text("digest_id is null and mode in ('hourly', 'daily')"),
    )
    op.create_index("ix_notification_digest_id", "notification", ["digest_id"], unique=False)
    op.create_index(
        "ix_notification_user_id_created_at", "notification", ["user_id", "created_at"], unique=False
    )
    op.create_foreign_key(
        op.f("fk_notification_digest_id"),
        "notification",
        "digest",
        ["digest_id"],
        ["id"],
        ondelete="SET NULL",
    )
    op.add_column("source", sa.Column("next_check_reason", sa.Text(), nullable=True))
    op.add_column("source", sa.Column("sweep_missed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("logical_chapter", sa.Column("announced_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("logical_chapter", sa.Column("owed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "logical_chapter", sa.Column("owed_round", sa.Integer(), server_default="0", nullable=False)
    )
    op.execute("update logical_chapter set owed_at = first_detected_at where announce = 'owed'")
    modes = "mode in ('immediate', 'hourly', 'daily', 'off')"
    op.create_check_constraint(op.f("ck_app_user_mode"), "app_user", modes)
    op.create_check_constraint(op.f("ck_library_entry_mode"), "library_entry", modes)
    op.create_check_constraint(op.f("ck_app_user_digest_hour"), "app_user", "digest_hour between 0 and 23")
    op.create_check_constraint(
        op.f("ck_notification_mode"), "notification", "mode in ('immediate', 'hourly', 'daily', 'dropped')"
    )
    op.create_check_constraint(
        op.f("ck_delivery_one_subject"), "delivery", "num_nonnulls(notification_id, digest_id) = 1"
    )


def downgrade() -> None:
    op.execute("delete from delivery where digest_id is not null")
    op.drop_constraint("ck_delivery_one_subject", "delivery")
    op.drop_column("delivery", "digest_id")
    op.alter_column("delivery", "notification_id", nullable=False)
    op.alter_column("delivery", "chapter_id", nullable=False)
    for column in ("mode", "digest_at", "digest_id"):
        op.drop_column("notification", column)
    op.drop_index("ix_notification_user_id_created_at", table_name="notification")
    for column in ("mode", "languages", "preferred_source", "read_number", "read_volume"):
        op.drop_column("library_entry", column)
    for column in ("mode", "languages", "time_zone", "digest_hour", "daily_cap"):
        op.drop_column("app_user", column)
    op.drop_column("source", "next_check_reason")
    op.drop_column("source", "sweep_missed_at")
    for column in ("announced_at", "owed_at", "owed_round"):
        op.drop_column("logical_chapter", column)
    for table in ("digest", "sweep", "import_entry"):
        op.drop_table(table)
