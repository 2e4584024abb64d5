"""the tables as they were before the first release, a file for each word; later migrations change them

Times are timestamptz in UTC. Unique constraints on natural keys decide what is a duplicate.
"""

from pathlib import Path

from alembic import op

revision = "0009"
down_revision = None
branch_labels = None
depends_on = None

_BASELINE = Path(__file__).parents[1] / "baseline"
# The order matters: later files refer to tables of earlier ones.
_WORDS = ("series", "notifications", "feeds", "fics", "summaries", "publishing", "operations")


def upgrade() -> None:
    connection = op.get_bind()
    for word in _WORDS:
        for statement in (_BASELINE / f"{word}.sql").read_text().split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
