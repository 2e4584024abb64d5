"""site pauses: a person's word that nobody goes there"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("gate", sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("gate", sa.Column("paused_reason", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("gate", "paused_reason")
    op.drop_column("gate", "paused_at")
