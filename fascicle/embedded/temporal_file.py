"""The layout of Temporal's SQLite file: small pages and few indices, so that a poll writes little.

The server has no options for this: it makes its file with SQLite's default page size and sixty indices on the
list of workflows. Both are changed while the server is down, in a new file or in one of an earlier version.
"""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

# A transaction writes whole pages, and most of Temporal's change a few bytes on each of ten to twenty pages.
PAGE_SIZE = 512
# Without an index, a query reads the whole list of workflows: 0.2 s for 50,000. With all sixty indices,
# starting a workflow writes four to five times as much.
KEPT_INDICES = ("default_idx", "by_workflow_id", "by_workflow_type", "by_status")

# Rewriting 200 MB took 6 s on a busy machine; a start must not take minutes.
_LARGEST_TO_REWRITE = 256 * 1024 * 1024
_LOCK_SECONDS = 1.0

_INDICES = """
select name from sqlite_master
where type = 'index' and tbl_name = 'executions_visibility' and sql is not null"""

_logger = logging.getLogger(__name__)


def slim(database: Path) -> None:
    """Give the file the layout above. If that is interrupted or fails, the file stays as it was."""
    try:
        with closing(sqlite3.connect(database, timeout=_LOCK_SECONDS, isolation_level=None)) as connection:
            _drop_unneeded_indices(connection)
            if _page_size(connection) != PAGE_SIZE and database.stat().st_size <= _LARGEST_TO_REWRITE:
                _rewrite(connection)
    except sqlite3.Error as error:
        # The old layout only means larger writes, so start anyway; the server reports a damaged file.
        _logger.warning("%s keeps its layout: %s", database, error)


def _drop_unneeded_indices(connection: sqlite3.Connection) -> None:
    names = [name for (name,) in connection.execute(_INDICES)]
    connection.execute("begin immediate")
    for name in set(names).difference(KEPT_INDICES):
        connection.execute(f'drop index "{name}"')
    connection.execute("commit")


def _rewrite(connection: sqlite3.Connection) -> None:
    # In WAL mode the page size cannot change; with a journal, VACUUM is one transaction.
    connection.execute("pragma journal_mode = delete")
    connection.execute(f"pragma page_size = {PAGE_SIZE}")
    connection.execute("vacuum")


def _page_size(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma page_size").fetchone()[0])
