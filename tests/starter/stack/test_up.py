"""`fascicle up` (O6): the demo at a terminal and into a log, stopping, starting, other services."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

from fascicle.embedded import EmbeddedTemporal
from starter.stack.up import PYTHON
from tests.starter.commandline import FASCICLE, Process, processes_of, start_up, wait_until
from tests.starter.conftest import Desk
from tests.starter.services import new_namespace

# Runs a command in a terminal of its own, to which it passes on what it is sent: \x03 is Ctrl-C.
IN_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


def test_o6_the_demo_shows_real_work_and_goes_on_after_ctrl_c(desk: Desk) -> None:
    """Once at a terminal, ended by Ctrl-C; then into a log, where it neither repeats nor forgets anything."""
    env = desk.env | {"DATABASE_URL": "postgresql://127.0.0.1:1/real", "FASCICLE_DEMO_RELEASE_SECONDS": "1"}
    shown = _demo_at_a_terminal(desk.folder, env)
    assert "\x1b[" in shown, "colours"
    assert "not those of DATABASE_URL" in shown, "the demo stays out of the real database"
    for word in ("synced", "chapter", "told", "Web UI", "stopping", "stopped"):
        assert word in shown
    with start_up(desk.folder, env, "--demo") as up:
        up.until_said("told      ", times=2)
        assert "\x1b[" not in up.said()
        assert "synced" not in up.said(), "no series is read anew"
        listed = desk.json("source", "list")
        up.signal(signal.SIGINT)
        up.until_said("stopping")
        up.signal(signal.SIGINT)
        assert up.exit_code(within=3) == 128 + signal.SIGINT
    wait_until(lambda: not processes_of(desk.folder), seconds=10, what="the end of all children")
    series = [row["series_id"] for row in listed if row["site"] != "feed"]
    assert (len(series), len(set(series))) == (7, 6), "one series is followed on two sites"
    assert len(listed) - len(series) == 3, "the feeds, once each"
    assert {row["failure_count"] for row in listed} == {0}
    _assert_nobody_was_told_twice(desk.folder / "data-demo")
    shelf = desk.folder / "data-demo" / "shelf.txt"
    assert f"try: fascicle source import {shelf}" in shown
    assert shelf.read_text().count("\nhttps://mangadex.org/title/") == 300


def _demo_at_a_terminal(folder: Path, env: dict[str, str]) -> str:
    with (folder / "terminal.log").open("wb") as log:
        terminal = subprocess.Popen(
            [sys.executable, "-c", IN_A_TERMINAL, FASCICLE, "up", "--demo"],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=log,
        )
    try:
        _wait_for_work(folder / "terminal.log")
        assert terminal.stdin
        terminal.stdin.write(b"\x03")
        terminal.stdin.flush()
        assert terminal.wait(20) == 0
    finally:
        terminal.kill()
        terminal.communicate()
    assert processes_of(folder) == []
    return (folder / "terminal.log").read_text()


def _wait_for_work(log: Path) -> None:
    """When no work is shown, the failure quotes what was."""
    words = ("Web UI", "chapter", "told")
    try:
        wait_until(lambda: all(word in log.read_text() for word in words), seconds=120, what="real work")
    except AssertionError as error:
        worker = log.parent / "data-demo" / "logs" / "worker.log"
        said = worker.read_text()[-20_000:] if worker.exists() else ""
        raise AssertionError(f"{error}\n{log.read_text()}\n{said}") from error


def _assert_nobody_was_told_twice(data: Path) -> None:
    lines = (data / "simulator.json.sink.jsonl").read_text().splitlines()
    told = Counter(
        (message["name"], message["title"], message["message"]) for message in map(json.loads, lines)
    )
    assert len(told) >= 3
    assert set(told.values()) == {1}


def test_o6_a_signal_while_starting_ends_the_start(desk: Desk) -> None:
    with Process([FASCICLE, "up"], cwd=desk.folder, env=desk.env, log=desk.folder / "up.log") as up:
        up.until_said("starting  PostgreSQL")
        assert "still starting" in desk.fascicle("status").said()
        up.signal(signal.SIGTERM)
        assert up.exit_code(within=10) == 0
    assert "ready" not in up.said()
    wait_until(lambda: not processes_of(desk.folder), seconds=5, what="the end of all children")
    assert desk.fascicle("status").code == 1


async def test_o6_services_of_the_environment_are_used_instead_of_our_own(
    temporal: EmbeddedTemporal, database_url: str, desk: Desk
) -> None:
    """And a port that is taken is replaced by a free one."""
    client = await new_namespace(temporal.address)
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]
        env = desk.env | {
            "DATABASE_URL": database_url,
            "TEMPORAL_ADDRESS": temporal.address,
            "TEMPORAL_NAMESPACE": client.namespace,
            "FASCICLE_OPS_PORT": str(taken),
        }
        with await asyncio.to_thread(start_up, desk.folder, env):
            checks = desk.json("doctor")  # from another shell, which knows only the folder
            status = desk.json("status")
    assert {check["state"] for check in checks} == {"ok"}, "no note: the Temporal is the person's own"
    assert any(client.namespace in check["detail"] for check in checks)
    assert not status["ops"].endswith(f":{taken}")
    assert {path.name for path in desk.data.iterdir()}.isdisjoint({"postgres", "temporal.db"})


def test_o6_files_of_the_folder_one_stands_in_are_not_run(desk: Desk) -> None:
    """Ours are found by name; a namesake in the working folder must not be taken for them."""
    (desk.folder / "simulator.py").write_text("raise SystemExit('the wrong program')")
    done = subprocess.run(
        [*PYTHON, "simulator", "--help"], cwd=desk.folder, env=desk.env, capture_output=True, text=True
    )
    assert "--release-every" in done.stdout
