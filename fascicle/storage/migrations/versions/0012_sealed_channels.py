"""sealed channels: their kind beside the address, which the next start seals"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Whoever had a channel left an address in these pages, even if it is gone.
    was_used = op.get_bind().scalar(sa.text("select pg_relation_size('channel') > 0"))
    op.add_column("channel", sa.Column("kind", sa.Text(), nullable=True))
    op.execute("update channel set kind = split_part(url, '://', 1)")
    op.alter_column("channel", "kind", nullable=False)
    # What is sealed reads differently each time: no index can compare it, and none keeps it in clear.
    op.drop_constraint(op.f("uq_channel_user_id_url"), "channel", type_="unique")
    op.create_index("ix_channel_user_id", "channel", ["user_id"])
    # The planner's statistics would keep values.
    op.execute("alter table channel alter column url set statistics 0")
    if was_used:
        op.execute("comment on column channel.url is 'clear addresses may be left in pages and logs'")


def downgrade() -> None:
    op.execute("alter table channel alter column url set statistics -1")
    op.drop_index("ix_channel_user_id", "channel")
    op.create_unique_constraint(op.f("uq_channel_user_id_url"), "channel", ["user_id", "url"])
    op.drop_column("channel", "kind")
