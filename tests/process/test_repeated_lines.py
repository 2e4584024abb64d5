"""Errors that repeat are told a few times a minute, with how often they were left out (O3)."""

import logging

import pytest

from fascicle.process.repeated_lines import MOST_A_MINUTE, RepeatedLines


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("fascicle.process.repeated_lines.time.monotonic", lambda: now[0])
    return now


def line(message: object, level: int = logging.ERROR, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("asyncio", level, __file__, 1, message, arguments, None)


def test_o3_a_line_that_repeats_is_left_out_and_counted(clock: list[float]) -> None:
    lines = RepeatedLines()
    passed = [lines.filter(line("no files left: %s", logging.ERROR, number)) for number in range(100)]
    assert sum(passed) == MOST_A_MINUTE
    clock[0] = 61
    again = line("no files left: %s", logging.ERROR, 100)
    assert lines.filter(again)
    assert again.getMessage() == f"no files left: 100 [{100 - MOST_A_MINUTE} more like this were left out]"


def test_o3_events_of_different_workflows_are_told_apart(clock: list[float]) -> None:
    lines = RepeatedLines()
    for workflow in range(100):
        assert lines.filter(line({"event": "activity_failed", "workflow_id": f"source-{workflow}"}))
    for _ in range(100):
        lines.filter(line({"event": "activity_failed", "workflow_id": "source-1"}))
    clock[0] = 61
    again = line({"event": "activity_failed", "workflow_id": "source-1"})
    assert lines.filter(again)
    assert again.msg == {
        "event": "activity_failed",
        "workflow_id": "source-1",
        "left_out": 101 - MOST_A_MINUTE,
    }


def test_o3_what_is_no_warning_always_passes(clock: list[float]) -> None:
    lines = RepeatedLines()
    assert all(lines.filter(line("activity_done", logging.INFO)) for _ in range(100))
