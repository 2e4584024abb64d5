"""Where secrets must not lie (X5): the servers' files, their environments, the logs at DEBUG."""

from collections.abc import Iterator
from pathlib import Path

from simulator.faults import Fault
from tests.starter.commandline import processes_of, wait_until
from tests.starter.conftest import MAIL_PASSWORD, Running

# In places of an address where different kinds of channels have theirs.
_TOKEN = "s3cret-token-of-a-webhook"
_PASSWORD = "s3cret-password-of-a-mailbox"


def test_x5_no_secret_lies_in_clear_where_the_stack_keeps_its_data(running: Running) -> None:
    sink = running.simulator.url.replace("http://", "json://") + "/sink"
    _be_told_through(running, "vera", f"{sink}/{_TOKEN}")
    running.simulator.faults.add(Fault(path=f"/sink/{_TOKEN}-failing", status=500))
    _be_told_through(running, "carl", f"{sink}/{_TOKEN}-failing", mail=f"mailto://u:{_PASSWORD}@127.0.0.1:9")
    listed = running.fascicle("user", "list").said()
    assert "json://…" in listed
    key = (running.desk.folder / "data" / "token-keys").read_text().splitlines()[1].partition(":")[2]
    secrets = [secret.encode() for secret in (_TOKEN, _PASSWORD, key, MAIL_PASSWORD)]
    assert _found(running, secrets) == []
    assert any(_TOKEN in request.path for request in running.simulator.requests.matching("/sink")), (
        "it was sent"
    )
    assert "DEBUG" in _read(running.desk.folder / "data" / "logs" / "worker.log").decode().upper()


def _be_told_through(running: Running, user: str, *channels: str, **more: str) -> None:
    for channel in (*channels, *more.values()):
        running.fascicle("user", "add", user, "--notify", channel)
    assert not running.json("user", "add", user, "--notify", channels[0])["channels_added"], "it is there"
    source = running.add(f"Lanterns of {user}")
    running.fascicle("follow", user, source["series_id"])
    running.simulator.world.release(source["site_key"])
    running.fascicle("source", "poll", source["id"])
    name = channels[0].rpartition("/")[2]
    wait_until(lambda: running.simulator.requests.matching(f"/sink/{name}"), what="the message")


def _found(running: Running, secrets: list[bytes]) -> list[tuple[str, bytes]]:
    data = running.desk.folder / "data"
    places = [file for file in data.rglob("*") if file.is_file() and file.name != "token-keys"]
    said = [*((str(file), _read(file)) for file in places), *_environments(running.desk.folder)]
    assert {"postgres", "temporal.db", "logs"} <= {
        Path(name).relative_to(data).parts[0] for name, _ in said[: len(places)]
    }
    return [(name, secret) for name, bytes_ in said for secret in secrets if secret in bytes_]


def _environments(folder: Path) -> Iterator[tuple[str, bytes]]:
    servers = 0
    for pid in processes_of(folder):
        command = _read(Path(f"/proc/{pid}/cmdline"))
        if b"postgres" in command.split(b"\0")[0] or b"temporal" in command.split(b"\0")[0]:
            servers += 1
            yield f"environment of {command!r}", _read(Path(f"/proc/{pid}/environ"))
    assert servers >= 2


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:  # PostgreSQL's own come and go
        return b""
