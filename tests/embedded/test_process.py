import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fascicle.embedded import Command, ProcessNotReady, Supervisor, logfile
from fascicle.embedded import process as process_module
from fascicle.embedded.claim import take_claim
from fascicle.embedded.process import RestartDelay
from tests.embedded.waiting import is_running, until


class Journal:
    """The events a supervisor reported."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def note(self, name: str, what: str) -> None:
        self.events.append((name, what))


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
async def supervisor(tmp_path: Path, journal: Journal) -> AsyncIterator[Supervisor]:
    async with Supervisor(tmp_path, journal.note) as supervisor:
        yield supervisor


def shell(name: str, script: str) -> Command:
    return Command(name=name, argv=["sh", "-c", script])


async def never() -> bool:
    return False


@pytest.mark.parametrize(
    ("ran_seconds", "delays"),
    [
        ([0.0] * 8, [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]),
        ([0.0, 0.0, 59.0, 60.0, 0.0], [0.2, 0.4, 0.8, 0.2, 0.4]),
    ],
)
def test_delay_before_a_restart_grows_until_the_process_has_run_a_minute(
    ran_seconds: list[float], delays: list[float]
) -> None:
    delay = RestartDelay()
    assert [delay.after(seconds) for seconds in ran_seconds] == pytest.approx(delays)


async def test_stops_in_the_reverse_order_of_starting(supervisor: Supervisor, journal: Journal) -> None:
    for name in ("database", "server", "worker"):
        await supervisor.start(Command(name=name, argv=["sleep", "600"]))
    pids = list(supervisor.pids.values())
    await supervisor.stop()
    stopped = [name for name, what in journal.events if what == "stopped"]
    assert stopped == ["worker", "server", "database"]
    assert supervisor.pids == {}
    assert not any(map(is_running, pids))


async def test_dead_process_comes_back(supervisor: Supervisor, journal: Journal) -> None:
    process = await supervisor.start(Command(name="worker", argv=["sleep", "600"]))
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: ("worker", "restarted") in journal.events)
    assert process.pid not in (first, None)
    assert journal.events == [("worker", "started"), ("worker", "died"), ("worker", "restarted")]


async def test_failing_listener_does_not_end_the_supervision(tmp_path: Path) -> None:
    def fail(name: str, what: str) -> None:
        raise RuntimeError("the listener is broken")

    async with Supervisor(tmp_path, fail) as supervisor:
        process = await supervisor.start(Command(name="worker", argv=["sleep", "600"]))
        first = process.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: process.pid not in (first, None))


async def test_silent_process_is_an_error_with_the_end_of_its_log(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    command = shell("worker", "for i in $(seq 100); do echo line $i; done; exec sleep 600")
    with pytest.raises(ProcessNotReady) as caught:
        await supervisor.start(Command(name="worker", argv=command.argv, ready=never, ready_within=0.3))
    message = str(caught.value)
    assert "worker was not ready within 0.3 s" in message
    assert str(tmp_path / "logs" / "worker.log") in message
    assert message.endswith("line 100")
    assert "line 1\n" not in message
    assert supervisor.pids == {}


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["sh", "-c", "echo no such queue >&2; exit 3"], r"ended \(exit code 3\)(.|\n)*no such queue"),
        (["/no/such/program"], "cannot run /no/such/program: No such file"),
        (["sh", "-c", "kill -9 $$"], r"ended \(SIGKILL\)(.|\n)*wrote nothing"),
    ],
)
async def test_process_that_ends_before_it_is_ready_is_an_error(
    supervisor: Supervisor, argv: list[str], says: str
) -> None:
    with pytest.raises(ProcessNotReady, match=says):
        await supervisor.start(Command(name="worker", argv=argv, ready=never))


async def test_stubborn_process_and_its_children_are_killed(supervisor: Supervisor, tmp_path: Path) -> None:
    child_file = tmp_path / "child"
    process = await supervisor.start(
        shell("worker", f"trap '' TERM; sleep 600 & echo $! > {child_file}; wait")
    )
    await until(lambda: child_file.exists() and child_file.read_text())
    pids = [process.pid or 0, int(child_file.read_text())]
    assert all(map(is_running, pids))
    await supervisor.stop(grace_seconds=0.2)
    await until(lambda: not any(map(is_running, pids)), seconds=1.0)


async def test_child_of_an_earlier_run_gets_time_to_end_and_then_the_kill(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_PATIENCE_SECONDS", 0.3)
    claim = await take_claim(tmp_path / "run" / "worker.lock", 0)
    with subprocess.Popen(["sleep", "600"], pass_fds=(claim,), start_new_session=True) as orphan:
        os.close(claim)
        began = time.monotonic()
        await supervisor.start(Command(name="worker", argv=["sleep", "600"]))
        assert 0.3 < time.monotonic() - began < 3
        assert not is_running(orphan.pid)


async def test_start_that_is_called_off_leaves_nothing_running(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    start = asyncio.create_task(supervisor.start(Command(name="worker", argv=["sleep", "600"], ready=never)))
    await until(lambda: supervisor.pids)
    pid = supervisor.pids["worker"]
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not is_running(pid)
    assert supervisor.pids == {}


async def test_stop_between_a_death_and_the_restart(supervisor: Supervisor, journal: Journal) -> None:
    await supervisor.start(shell("worker", "exit 1"))
    await until(lambda: journal.events.count(("worker", "died")) == 2)
    await supervisor.stop()
    assert journal.events[-1] == ("worker", "stopped")


async def test_terminal_signals_environment_and_folder(supervisor: Supervisor, tmp_path: Path) -> None:
    code = (
        "import os, signal, time; "
        "print(os.getsid(0) == os.getpid(), os.environ['FLAVOUR'], os.getcwd(), flush=True); time.sleep(600)"
    )
    command = Command(
        name="worker", argv=[sys.executable, "-c", code], env={"FLAVOUR": "plum"}, cwd=tmp_path / "run"
    )
    process = await supervisor.start(command)
    await until(lambda: process.log_path.read_text().endswith("\n"))
    assert process.log_path.read_text() == f"True plum {tmp_path / 'run'}\n"


async def test_large_log_is_rotated_at_the_start(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "ROTATE_BYTES", 10)
    (tmp_path / "logs" / "worker.log").write_text("the log of last year")
    process = await supervisor.start(shell("worker", "echo new; exec sleep 600"))
    await until(lambda: process.log_path.read_text() == "new\n")
    assert (tmp_path / "logs" / "worker.log.1").read_text() == "the log of last year"


async def test_a_log_that_grows_large_while_the_process_runs_is_rotated(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "ROTATE_BYTES", 1000)
    monkeypatch.setattr("fascicle.embedded.supervisor._LOOK_AT_LOGS_SECONDS", 0.05)
    await supervisor.start(shell("worker", "while true; do echo 0123456789; sleep 0.001; done"))
    logs = tmp_path / "logs"
    await until(lambda: (logs / "worker.log.3").exists())
    current = (logs / "worker.log").stat().st_size
    await until(lambda: (logs / "worker.log").stat().st_size != current)
    assert not (logs / "worker.log.4").exists()
    assert all(file.stat().st_mode & 0o077 == 0 for file in logs.iterdir())
    assert set((logs / "worker.log.3").read_text().split("\n")) <= {"0123456789", ""}
