"""requests: what was asked for, what each stage left behind, what was paid, summaries"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "request",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_hash", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default="pending", nullable=False),
        sa.Column("stage", sa.Text(), nullable=True),
        sa.Column("progress", sa.Integer(), server_default="0", nullable=False),
        sa.Column("round", sa.Integer(), server_default="1", nullable=False),
        sa.Column("correlation_id", sa.Text(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("waiting_for", sa.Text(), nullable=True),
        sa.Column("touched_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", postgresql.JSONB(), nullable=True),
        sa.Column("problems", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("validated", postgresql.JSONB(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "stage in ('extracting', 'summarizing', 'validating', 'persisting')",
            name=op.f("ck_request_stage"),
        ),
        sa.CheckConstraint(
            "status in ('pending', 'running', 'succeeded', 'failed', 'cancelled')",
            name=op.f("ck_request_status"),
        ),
        sa.ForeignKeyConstraint(
            ["item_id"], ["item.id"], name=op.f("fk_request_item_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_request")),
    )
    op.create_index("ix_request_created_at", "request", ["created_at"], unique=False)
    op.create_index(
        "ix_request_item_id",
        "request",
        ["item_id"],
        unique=False,
        postgresql_where=sa.text("item_id is not null"),
    )
    op.create_index(
        "ix_request_queue",
        "request",
        ["queued_at", "id"],
        unique=False,
        postgresql_where=sa.text("status in ('pending', 'running')"),
    )
    op.create_index("ix_request_url_hash_created_at", "request", ["url_hash", "created_at"], unique=False)
    op.create_index(
        "uq_request_open",
        "request",
        ["url_hash"],
        unique=True,
        postgresql_where=sa.text("status in ('pending', 'running')"),
    )
    op.create_table(
        "llm_call",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Numeric(), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state in ('open', 'answered', 'failed', 'lost', 'rejected')", name=op.f("ck_llm_call_state")
        ),
        sa.ForeignKeyConstraint(
            ["request_id"], ["request.id"], name=op.f("fk_llm_call_request_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_llm_call")),
    )
    op.create_index("ix_llm_call_request_id", "llm_call", ["request_id"], unique=False)
    op.create_index("ix_llm_call_started_at", "llm_call", ["started_at"], unique=False)
    op.create_index(
        "uq_llm_call_answered",
        "llm_call",
        ["request_id", "step"],
        unique=True,
        postgresql_where=sa.text("state = 'answered'"),
    )
    op.create_table(
        "request_article",
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("site_name", sa.Text(), nullable=True),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("extractor", sa.Text(), nullable=False),
        sa.Column("words", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["request_id"], ["request.id"], name=op.f("fk_request_article_request_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("request_id", name=op.f("pk_request_article")),
    )
    op.create_table(
        "request_subscriber",
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("waits_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "subscribed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["request_id"], ["request.id"], name=op.f("fk_request_subscriber_request_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["app_user.id"], name=op.f("fk_request_subscriber_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("request_id", "user_id", name=op.f("pk_request_subscriber")),
    )
    op.create_index("ix_request_subscriber_user_id", "request_subscriber", ["user_id"], unique=False)
    op.create_table(
        "summary",
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("url_hash", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("document", postgresql.JSONB(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("method in ('model', 'extractive')", name=op.f("ck_summary_method")),
        sa.ForeignKeyConstraint(
            ["request_id"], ["request.id"], name=op.f("fk_summary_request_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("request_id", name=op.f("pk_summary")),
    )
    op.create_index("ix_summary_url_hash_created_at", "summary", ["url_hash", "created_at"], unique=False)


def downgrade() -> None:
    for table in ("request_subscriber", "summary", "llm_call", "request_article", "request"):
        op.drop_table(table)
    op.execute("delete from notice where job_key like 'request-%'")
