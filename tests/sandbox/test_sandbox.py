"""X1: a document that wears its process out harms no other, and nothing is left behind."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import psutil
import pytest

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError
from fascicle.sandbox import Reading, Sandbox, idle_children
from tests.sandbox.probe import CHILD, PROBE

PLACE = "https://example.org/feed?token=secret"


@pytest.fixture
async def probed() -> AsyncIterator[Sandbox]:
    async with Sandbox(1, child=CHILD) as opened:
        yield opened


async def _read(sandbox: Sandbox, body: bytes = b"fine", **given: Any) -> dict[str, Any]:
    return await sandbox.read(PROBE, body, dict[str, Any], place=PLACE, **given)


async def _failure(sandbox: Sandbox, body: bytes) -> FascicleError:
    with pytest.raises(FascicleError) as caught:
        await _read(sandbox, body)
    assert "secret" not in caught.value.message
    return caught.value


async def test_x1_one_process_reads_document_after_document(probed: Sandbox) -> None:
    assert probed.pids == []
    assert await _read(probed, more="words") == {"body": "fine", "more": "words"}
    [pid] = probed.pids
    assert await _read(probed) == {"body": "fine"}
    assert probed.pids == [pid]
    await probed.close()
    assert not psutil.pid_exists(pid)
    with pytest.raises(RetryableError) as refused:
        await _read(probed)
    assert refused.value.code == "shutting_down"


async def test_x1_a_process_that_was_killed_is_no_fault_of_the_document(probed: Sandbox) -> None:
    await _read(probed)
    os.kill(probed.pids[0], signal.SIGKILL)
    assert await _read(probed) == {"body": "fine"}


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b"die", "parser_crashed", "ended without a word"),
        (b"abort", "parser_crashed", "SIGABRT"),
        (b"eat", "parser_crashed", "more than 512 MB of memory"),
        (b"chatter", "parser_crashed", "parsing makes 25,165,827 bytes of it"),
        (b"flood", "parser_crashed", "ended without a word"),
        (b"stumble", "parser_crashed", "ZeroDivisionError('odd')"),
        (b"compute", "parser_timeout", "of processor time"),
    ],
)
async def test_x1_what_a_document_does_to_its_process_is_told_as_its_error(
    probed: Sandbox, body: bytes, code: str, words: str
) -> None:
    error = await _failure(probed, body)
    assert isinstance(error, PermanentError)
    assert error.code == code
    assert words in error.message
    assert error.message.startswith("https://example.org/feed cannot be read (")
    assert await _read(probed) == {"body": "fine"}


async def test_x1_errors_of_sites_come_back_as_they_are(probed: Sandbox) -> None:
    error = await _failure(probed, b"later")
    assert isinstance(error, RetryableError)
    assert (error.code, error.message, error.http_status) == ("bad_answer", "try again", 503)


async def test_x1_only_what_is_listed_can_be_run(sandbox: Sandbox) -> None:
    with pytest.raises(PermanentError, match="is not a valid Reading"):
        await sandbox.read("os:getcwd", b"", str, place=PLACE)


async def test_x1_a_process_knows_nothing_of_ours_and_loads_what_it_needs(probed: Sandbox) -> None:
    seen = await _read(probed, b"whoami")
    assert not {"feedparser", "selectolax", "trafilatura", "nh3", "httpx"} & set(seen["modules"])
    assert not [name for name in seen["environment"] if name.startswith(("FASCICLE", "DATABASE"))]


async def test_x1_a_document_that_takes_too_long_is_cut_off() -> None:
    async with Sandbox(1, longest_seconds=0.2, child=CHILD) as hasty:
        error = await _failure(hasty, b"hang")
        assert (error.code, hasty.pids) == ("parser_timeout", [])


async def test_x1_closing_ends_a_document_under_way(probed: Sandbox) -> None:
    reading = asyncio.create_task(_read(probed, b"hang"))
    while not probed.pids:
        await asyncio.sleep(0.01)
    pids = probed.pids
    await probed.close()
    with pytest.raises(RetryableError):
        await reading
    assert not any(psutil.pid_exists(pid) for pid in pids)


async def test_x1_a_process_that_nobody_needs_ends(probed: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_children, "IDLE_SECONDS", 0.2)
    await _read(probed)
    [pid] = probed.pids
    async with asyncio.timeout(10):
        while psutil.pid_exists(pid):
            await asyncio.sleep(0.05)
    assert probed.pids == []
    assert await _read(probed) == {"body": "fine"}


@pytest.mark.parametrize("reading", list(Reading))
def test_x1_every_reading_that_is_listed_is_there(reading: Reading) -> None:
    from fascicle.sandbox.child import allowed_reading

    assert callable(allowed_reading(reading))
