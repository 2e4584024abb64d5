"""Tables of the requests (R1–R5): what was asked for, what each stage left behind, what was paid."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Numeric,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from fascicle.storage.table_parts import big_id, metadata, time

_OPEN = "status in ('pending', 'running')"

request = Table(
    "request",
    metadata,
    Column("id", Text, primary_key=True),
    Column("url", Text, nullable=False),
    # Of the address's normal form: what the same page is known by.
    Column("url_hash", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="pending"),
    Column("stage", Text),
    Column("progress", Integer, nullable=False, server_default="0"),
    # Counted up when it is tried again: people are told once a round.
    Column("round", Integer, nullable=False, server_default="1"),
    Column("correlation_id", Text, nullable=False),
    # The inbox's item that it is about, if it is.
    Column("item_id", BigInteger, ForeignKey("item.id", ondelete="SET NULL")),
    time("queued_at", now=True),
    time("started_at"),
    time("finished_at"),
    time("not_before"),
    Column("waiting_for", Text),
    # When somebody last did something for it.
    time("touched_at", now=True),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("error", JSONB),
    # What was wrong with the last draft, for whoever corrects it; and the summary, once it is right.
    Column("problems", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("validated", JSONB),
    time("created_at", now=True),
    CheckConstraint("status in ('pending', 'running', 'succeeded', 'failed', 'cancelled')", name="status"),
    CheckConstraint("stage in ('extracting', 'summarizing', 'validating', 'persisting')", name="stage"),
    # Of those who ask for the same page at once, one has it read (R1).
    Index("uq_request_open", "url_hash", unique=True, postgresql_where=text(_OPEN)),
    Index("ix_request_queue", "queued_at", "id", postgresql_where=text(_OPEN)),
    Index("ix_request_url_hash_created_at", "url_hash", "created_at"),
    Index("ix_request_created_at", "created_at"),
    Index("ix_request_item_id", "item_id", postgresql_where=text("item_id is not null")),
)

# The result of extracting.
request_article = Table(
    "request_article",
    metadata,
    Column("request_id", ForeignKey("request.id", ondelete="CASCADE"), primary_key=True),
    Column("url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("language", Text),
    Column("author", Text),
    Column("site_name", Text),
    time("published_at"),
    Column("extractor", Text, nullable=False),
    Column("words", Integer, nullable=False),
    time("created_at", now=True),
)

# Every question to a model: noted before it is asked, with what it may cost; then what it did cost, and the
# answer, which is the result of summarizing. Without its request it still counts for its day.
llm_call = Table(
    "llm_call",
    metadata,
    big_id(),
    Column("request_id", ForeignKey("request.id", ondelete="SET NULL")),
    # What it is for: `notes:1:3`, `summary`, `correction`. The extractive summary is one that costs nothing.
    Column("step", Text, nullable=False),
    Column("model", Text),
    Column("state", Text, nullable=False, server_default="open"),
    Column("tokens", Integer, nullable=False),
    Column("cost", Numeric, nullable=False),
    Column("content", Text),
    Column("error_code", Text),
    time("started_at", required=True),
    time("ended_at"),
    # `lost`: whoever asked died before the answer; what it may have cost is counted. `rejected`: an answer
    # that was no summary, paid for all the same.
    CheckConstraint("state in ('open', 'answered', 'failed', 'lost', 'rejected')", name="state"),
    Index(
        "uq_llm_call_answered", "request_id", "step", unique=True, postgresql_where=text("state = 'answered'")
    ),
    Index("ix_llm_call_request_id", "request_id"),
    Index("ix_llm_call_started_at", "started_at"),
)

summary = Table(
    "summary",
    metadata,
    Column("request_id", ForeignKey("request.id", ondelete="CASCADE"), primary_key=True),
    Column("url_hash", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("model", Text),
    Column("document", JSONB, nullable=False),
    time("created_at", now=True),
    CheckConstraint("method in ('model', 'extractive')", name="method"),
    Index("ix_summary_url_hash_created_at", "url_hash", "created_at"),
)

request_subscriber = Table(
    "request_subscriber",
    metadata,
    Column("request_id", ForeignKey("request.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("app_user.id", ondelete="CASCADE"), primary_key=True),
    # Whoever waits at the terminal until then gets the answer there.
    time("waits_until"),
    time("subscribed_at", now=True),
    Index("ix_request_subscriber_user_id", "user_id"),
)
