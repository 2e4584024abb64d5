import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from simulator.__main__ import main
from simulator.faults import Fault
from simulator.server import RunningSimulator, address_of, listen

ROOT = Path(__file__).parents[2]


@contextmanager
def command(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "simulator", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def address_in(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().split()[2]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_command_says_where_it_is_and_ends_cleanly(
    http: httpx.Client, tmp_path: Path, stop: signal.Signals
) -> None:
    state = tmp_path / "state.json"
    with command("--port", "0", "--world", "demo", "--state", str(state)) as process:
        address = address_in(process)
        assert http.get(f"{address}/_sim/health").json()["series"] == 306
        process.send_signal(stop)
        output, errors = process.communicate(timeout=5)
    assert (process.returncode, output, errors) == (0, "", "")
    assert state.exists()


def test_state_survives_a_kill(http: httpx.Client, tmp_path: Path) -> None:
    arguments = ("--port", "0", "--state", str(tmp_path / "state.json"))
    with command(*arguments) as process:
        address = address_in(process)
        http.post(f"{address}/_sim/series", json={"title": "Kept", "chapters": 2})
        http.post(f"{address}/sink/ann", json={"title": "kept too"})
        process.kill()
    with command(*arguments) as process:
        address = address_in(process)
        (series,) = http.get(f"{address}/_sim/series").json()
        (message,) = http.get(f"{address}/_sim/sink/ann").json()
    assert (series["title"], series["uploads"], message["title"]) == ("Kept", 2, "kept too")


def test_command_names_what_stops_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "state.json"
    broken.write_text("{")
    assert main(["--state", str(broken)]) == 1
    assert capsys.readouterr().err.startswith("simulator: cannot read the simulator's state")
    with listen("127.0.0.1", 0) as taken:
        assert main(["--port", address_of(taken).rpartition(":")[2]]) == 1
    assert "in use" in capsys.readouterr().err


def test_stops_within_a_second_though_requests_are_under_way(http: httpx.Client) -> None:
    failures: list[Exception] = []

    def ask(url: str) -> None:
        try:
            http.get(url, timeout=30)
        except httpx.TransportError as error:
            failures.append(error)

    with RunningSimulator() as simulator:
        simulator.faults.add(Fault(kind="delay", delay=30))
        asking = threading.Thread(target=ask, args=(f"{simulator.mangadex_url}/manga",))
        asking.start()
        while not simulator.requests.matching():
            time.sleep(0.01)
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 1
    asking.join(5)
    assert len(failures) == 1


def test_two_simulators_do_not_share_anything(http: httpx.Client) -> None:
    with RunningSimulator("demo") as first, RunningSimulator() as second:
        assert first.url != second.url
        series = [http.get(f"{each.url}/_sim/series").json() for each in (first, second)]
    assert [len(listed) for listed in series] == [306, 0]
