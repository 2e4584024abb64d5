"""source notes: what was done without when a document was last read"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("source", sa.Column("note", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("source", "note")
