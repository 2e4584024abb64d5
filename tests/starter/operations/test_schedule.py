"""`fascicle schedule list` (O5)."""

import pytest

from fascicle.domain.names import CLEANUP_SCHEDULE
from starter.operations.schedule import in_words
from tests.starter.commandline import wait_until
from tests.starter.conftest import Running
from tests.starter.test_temporal_cli import temporal


def test_o5_schedules_are_listed_with_their_last_run_and_the_next(running: Running) -> None:
    def cleanup() -> dict[str, object]:
        rows: list[dict[str, object]] = running.json("schedule", "list")
        return next(row for row in rows if row["name"] == CLEANUP_SCHEDULE)

    temporal(running, f"temporal schedule trigger -s {CLEANUP_SCHEDULE}")
    wait_until(lambda: cleanup()["last_status"] == "completed", what="the cleanup")
    row = cleanup()
    assert (row["workflow"], row["every_seconds"], row["paused"]) == ("StorageCleanupWorkflow", 86400, False)
    assert row["last_result"] == {"removed": 0, "shared": 0, "failed": 0, "last_failure": None}
    assert str(row["last_run_at"]) < str(row["next_run_at"])
    temporal(running, f"temporal schedule toggle -s {CLEANUP_SCHEDULE} --pause --reason why")
    row = cleanup()
    assert (row["paused"], row["note"], row["next_run_at"]) == (True, "why", None)
    line = next(line for line in running.fascicle("schedule", "list").out.splitlines() if "cleanup" in line)
    for words in ("1 d", "paused", "completed", "nothing to do"):
        assert words in line
    temporal(running, f"temporal schedule toggle -s {CLEANUP_SCHEDULE} --unpause --reason over")
    assert cleanup()["next_run_at"]


@pytest.mark.parametrize(
    ("seconds", "words"), [(86400, "1 d"), (21600, "6 h"), (5400, "90 min"), (90, "90 s"), (0.5, "0.5 s")]
)
def test_intervals_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
