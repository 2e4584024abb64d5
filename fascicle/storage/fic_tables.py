"""Tables of the fics (F1–F9): what was read, the queue, who waits for what."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Date,
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


def _texts(name: str) -> Column[object]:
    return Column(name, ARRAY(Text), nullable=False, server_default=text("'{}'"))


fic = Table(
    "fic",
    metadata,
    # `{site}-{kind}-{id}`: the dedup key, and what the workflow's id is made of.
    Column("key", Text, primary_key=True),
    Column("site", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("site_id", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("title", Text, nullable=False),
    _texts("authors"),
    _texts("author_urls"),
    _texts("fandoms"),
    _texts("relationships"),
    _texts("characters"),
    _texts("tags"),
    _texts("warnings"),
    _texts("categories"),
    Column("rating", Text),
    Column("language", Text),
    # Sanitised HTML.
    Column("summary", Text),
    Column("words", Integer),
    Column("chapters", Integer),
    Column("chapters_total", Integer),
    Column("complete", Boolean),
    Column("published_on", Date),
    Column("updated_on", Date),
    Column("restricted", Boolean, nullable=False, server_default=text("false")),
    Column("change_token", Text),
    # A work's places in series; a series' count of works, and of those a guest may not see.
    Column("series", JSONB, nullable=False, server_default=text("'[]'")),
    Column("works_total", Integer),
    Column("hidden_works", Integer, nullable=False, server_default="0"),
    time("read_at", required=True),
    time("created_at", now=True),
    CheckConstraint("kind in ('work', 'series')", name="kind"),
)

fic_series_work = Table(
    "fic_series_work",
    metadata,
    Column("series_key", ForeignKey("fic.key", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("part", Integer),
    Column("work_key", ForeignKey("fic.key", ondelete="CASCADE")),
    # Why this one could not be read; the others are there all the same (F7).
    Column("error", Text),
)

# A moderator's word stays when the job is cleared or done anew.
fic_override = Table(
    "fic_override",
    metadata,
    Column("key", Text, primary_key=True),
    Column("moderator", Text, nullable=False),
    Column("reason", Text),
    time("created_at", now=True),
)

fic_job = Table(
    "fic_job",
    metadata,
    Column("key", Text, primary_key=True),
    Column("site", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("site_id", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("state", Text, nullable=False, server_default="pending"),
    # Counted up when a finished job is done anew: whoever still works for an earlier round writes nothing.
    Column("round", Integer, nullable=False, server_default="1"),
    # The order of the site's queue; a finished job that is done anew goes to its end.
    time("queued_at", now=True),
    time("started_at"),
    time("finished_at"),
    # The next request of a job that takes several, and what the pages before it said.
    Column("next_url", Text),
    Column("requests", Integer, nullable=False, server_default="0"),
    Column("pages", JSONB, nullable=False, server_default=text("'[]'")),
    # How often in a row the worker ended while it read the fic.
    Column("losses", Integer, nullable=False, server_default="0"),
    # Of a series: what became of each of its works.
    Column("works", JSONB, nullable=False, server_default=text("'[]'")),
    Column("attempts", Integer, nullable=False, server_default="0"),
    time("not_before"),
    Column("waiting_for", Text),
    Column("error_code", Text),
    Column("error", Text),
    _texts("reasons"),
    time("created_at", now=True),
    CheckConstraint(
        "state in ('pending', 'processing', 'done', 'error', 'nOTP', 'series-done')", name="state"
    ),
    Index(
        "ix_fic_job_queue",
        "site",
        "queued_at",
        "key",
        postgresql_where=text("state in ('pending', 'processing')"),
    ),
    Index("ix_fic_job_finished_at", "finished_at"),
)

# Pages that were fetched, or given by a person, and not made use of yet: a crash fetches none of them again.
fic_page = Table(
    "fic_page",
    metadata,
    # No reference: a page may be given before the job is there.
    Column("job_key", Text, primary_key=True),
    Column("url", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("given", Boolean, nullable=False, server_default=text("false")),
    time("created_at", now=True),
)

fic_subscriber = Table(
    "fic_subscriber",
    metadata,
    Column("job_key", ForeignKey("fic_job.key", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("app_user.id", ondelete="CASCADE"), primary_key=True),
    # The round they wait for, or were last told of.
    Column("round", Integer, nullable=False),
    Column("note", Text),
    _texts("tags"),
    # Whoever still stands at the counter then gets the answer there (F4).
    time("waits_until"),
    time("subscribed_at", now=True),
    Index("ix_fic_subscriber_user_id", "user_id"),
)

# Replies on Discord that are edited when their job moves on; editing twice does no harm.
discord_reply = Table(
    "discord_reply",
    metadata,
    big_id(),
    # No reference: that the job was cleared is to be said, too.
    Column("job_key", Text, nullable=False),
    reference("user_id", "app_user.id"),
    Column("application_id", Text, nullable=False),
    # The interaction's token, encrypted; good for 15 minutes.
    Column("token", Text, nullable=False),
    Column("channel_id", Text),
    Column("discord_user_id", Text, nullable=False),
    # What the reply says now.
    Column("shown", Text),
    Column("state", Text, nullable=False, server_default="open"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    time("next_attempt_at", now=True),
    time("expires_at", required=True),
    Column("last_error", Text),
    time("created_at", now=True),
    CheckConstraint("state in ('open', 'settled', 'lost')", name="state"),
    Index("ix_discord_reply_open", "job_key", postgresql_where=text("state = 'open'")),
)

# Commands from Discord that somebody carries out: the same signed request again changes nothing.
discord_interaction = Table(
    "discord_interaction",
    metadata,
    Column("id", Text, primary_key=True),
    time("taken_at", now=True),
)
