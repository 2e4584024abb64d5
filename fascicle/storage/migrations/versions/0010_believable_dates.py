"""believable dates: a stranger's date outside 1900 to 2200, `-infinity` above all, becomes none

`-infinity` is read back without a time zone, and every comparison with it failed.
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("logical_chapter", "published_at"),
    ("chapter_upload", "published_at"),
    ("feed", "newest_published_at"),
    ("item", "published_at"),
    ("feed_item", "published_at"),
    ("request_article", "published_at"),
    ("fic", "published_on"),
    ("fic", "updated_on"),
)


def upgrade() -> None:
    for table, column in _COLUMNS:
        op.execute(
            f"update {table} set {column} = null where {column} < '1900-01-01' or {column} >= '2201-01-01'"
        )
