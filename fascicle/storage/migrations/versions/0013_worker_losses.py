"""worker losses: how often in a row the worker ended while it polled a source or read a fic"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A source also notes when its running poll began (storage/series/source_loss.py).
    op.add_column("source", sa.Column("losses", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("source", sa.Column("poll_begun_at", sa.DateTime(timezone=True), nullable=True))
    # The parts that were skipped when the source's document was last read.
    op.add_column("source", sa.Column("note", sa.Text(), nullable=True))
    op.create_index("ix_source_suspected", "source", ["id"], postgresql_where=sa.text("losses > 0"))
    op.add_column("fic_job", sa.Column("losses", sa.Integer(), nullable=False, server_default="0"))
