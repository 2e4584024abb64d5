"""sources without plan: found every minute without a walk through all of them"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    without = sa.text("next_check_at is null")
    op.create_index("ix_source_without_plan", "source", ["id"], postgresql_where=without)


def downgrade() -> None:
    op.drop_index("ix_source_without_plan", "source")
