"""sealed channels: their kind beside the address, which the next start seals"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A user with a channel left an address in the table's pages, even if the row is deleted.
    was_used = op.get_bind().scalar(sa.text("select pg_relation_size('channel') > 0"))
    # From now on the url is sealed for the user or the purpose (fascicle.storage.notifications.channel).
    op.add_column("channel", sa.Column("kind", sa.Text(), nullable=True))
    op.execute("update channel set kind = split_part(url, '://', 1)")
    op.alter_column("channel", "kind", nullable=False)
    # Sealing the same url twice gives different text, so a unique index on it would be useless.
    op.drop_constraint(op.f("uq_channel_user_id_url"), "channel", type_="unique")
    op.create_index("ix_channel_user_id", "channel", ["user_id"])
    # The planner's statistics would keep sample values.
    op.execute("alter table channel alter column url set statistics 0")
    if was_used:
        op.execute("comment on column channel.url is 'clear addresses may be left in pages and logs'")
