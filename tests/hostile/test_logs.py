"""What is logged holds no address of a channel, and what strangers wrote does nothing to a terminal."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fascicle.settings.settings import load_settings
from tests.hostile.http_sink import HttpSink

_SCRIPT = """
import asyncio, logging, sys
from fascicle.process.logs import configure_logs, get_logger
configure_logs("DEBUG", sys.argv[1])
log = get_logger("fascicle.test")
log.debug("ours", said="a\\x1b[31mb c", more=["\\x1b]0;x\\x07"])
log.info("first\\n2026-01-01 [info] forged \\x9b2J\\u202e")
logging.getLogger("temporalio.activity").debug("theirs %s", "\\x1b[2J")
logging.getLogger("some.library").debug("https://hooks.example/s3cret")
try:
    raise ValueError("\\x1b[31mboom\\u2028x")
except ValueError:
    log.exception("failed", detail="\\x1b[5m")
    logging.getLogger("fascicle.other").exception("failed, too")
from fascicle.services.notifications.message import Message
from fascicle.services.notifications.notifier import Notifier
from fascicle.net.ssrf import HostGuard
for url in sys.argv[2:]:
    print(asyncio.run(Notifier(HostGuard(["127.0.0.1"])).send(url, Message("title", "body"))))
"""
# Of a terminal: bytes that it obeys, line feeds and tabs apart.
_OBEYED = [chr(code) for code in (*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2028)]


def _logged(log_format: str, *urls: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, log_format, *urls], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_terminal_obeys_nothing_that_strangers_wrote() -> None:
    said = _without_colours(_logged("console"))
    assert [f"{ord(c):x}" for c in _OBEYED if c in said] == []
    for shown in (r"a\x1b[31mb c", r"\x1b]0;x\x07", r"theirs \x1b[2J", r"\x1b[31mboom\x2028x", r"\x1b[5m"):
        assert shown in said.replace("\\\\", "\\")
    assert "\n2026-01-01 [info] forged" not in said
    assert said.count("ValueError") == 2


def _without_colours(said: str) -> str:
    """Our own renderer's are no strangers'."""
    return re.sub(r"\x1b\[[0-9;]*m", "", said)


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_at_debug_no_address_of_a_channel_is_logged(log_format: str) -> None:
    with HttpSink() as sink:
        urls = [
            f"json://ann:s3cret-password@{sink.address}/hooks/s3cret-token",
            f"mmost://{sink.address}/s3crets3crets3crets3crets3",
            "mailto://ann:s3cret-password@127.0.0.1:1/?from=a@x.example&to=b@x.example",
            "nonsense://s3cret-token",
        ]
        said = _logged(log_format, *urls)
    assert "ours" in said, "our own lines are there"
    assert said.count("Sent(") == len(urls)
    assert sink.bodies
    assert [
        line for line in said.splitlines() if "s3cret" in line.replace("s3cret-host-that-is-none", "")
    ] == []


def test_of_the_folder_s_env_file_only_our_own_variables_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = ("PYTHONPATH", "LD_PRELOAD", "PATH", "HTTPS_PROXY", "PYTHONSTARTUP", "AWS_SECRET_ACCESS_KEY")
    monkeypatch.chdir(tmp_path)
    for name in (*wrong, "FASCICLE_SWEEP_SECONDS", "DATABASE_URL", "TEMPORAL_NAMESPACE"):
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    ours = "FASCICLE_SWEEP_SECONDS=7\nDATABASE_URL=postgresql://x/y\nTEMPORAL_NAMESPACE=other\n"
    (tmp_path / ".env").write_text(ours + "".join(f"{name}=/tmp/evil\n" for name in wrong))
    settings = load_settings()
    assert settings.sweep_seconds == 7
    assert os.environ["TEMPORAL_NAMESPACE"] == "other"
    assert [name for name in wrong if os.environ.get(name) == "/tmp/evil"] == []


def test_libraries_are_not_heard_at_debug() -> None:
    assert "some.library" not in _logged("json")
