"""`fascicle payload …`, who is refused for want of a key, and the codec of the embedded stack (X5)."""

import asyncio
import base64
import json
from collections.abc import Iterator

import asyncpg
import httpx
import pytest
from temporalio.api.common.v1 import Payload

from fascicle.temporal.payload_codec import SealingCodec
from tests.payloads import OLD, keys, line
from tests.starter.commandline import Outcome
from tests.starter.conftest import CODEC_TOKEN, Running


def in_database(running: Running, statement: str) -> None:
    async def execute() -> None:
        url = json.loads((running.desk.data / "stack.json").read_text())["DATABASE_URL"]
        connection = await asyncpg.connect(url.replace("postgresql+asyncpg", "postgresql"))
        await connection.execute(statement)
        await connection.close()

    asyncio.run(execute())


@pytest.fixture
def old_is_used(running: Running) -> Iterator[None]:
    """As if the workers of the stack had encrypted with it."""
    fingerprint = keys("old").ring.fingerprints["old"]
    in_database(running, f"insert into payload_key (id, fingerprint) values ('old', '{fingerprint}')")
    yield
    in_database(running, "delete from payload_key")


def start_worker(running: Running, **env: str) -> Outcome:
    """One that must not start."""
    stack = json.loads((running.desk.data / "stack.json").read_text())
    servers = {name: str(stack[name]) for name in ("DATABASE_URL", "TEMPORAL_ADDRESS")}
    return Outcome(
        **running.desk.commands.run(
            cwd=running.desk.folder,
            env=running.desk.env | servers | {"FASCICLE_OPS_PORT": "0"} | env,
            program="worker",
        )
    )


@pytest.mark.usefixtures("old_is_used")
def test_x5_without_the_key_or_with_a_wrong_one_nobody_starts_or_talks(running: Running) -> None:
    worker = start_worker(running, FASCICLE_PAYLOAD_KEYS="")
    assert (worker.code, "with the key 'old'" in worker.err) == (1, True), worker
    assert "set FASCICLE_PAYLOAD_KEYS" in worker.err
    wrong = start_worker(running, FASCICLE_PAYLOAD_KEYS=line("old", 9))
    assert (wrong.code, "is another" in wrong.err) == (1, True), wrong
    command = running.fascicle("source", "poll", "any", FASCICLE_PAYLOAD_KEYS="")
    assert (command.code, "with the key 'old'" in command.said()) == (1, True), command
    examined = running.fascicle("doctor", "--json", FASCICLE_PAYLOAD_KEYS=line("new", 2))
    (check,) = [check for check in json.loads(examined.out) if check["check"] == "payload keys"]
    assert (check["state"], "add it" in check["detail"]) == ("FAIL", True)
    assert running.fascicle("payload", "keys", FASCICLE_PAYLOAD_KEYS="").code == 0


def test_x5_a_command_alone_does_not_switch_encryption_on(running: Running) -> None:
    refused = running.fascicle("source", "poll", "any", FASCICLE_PAYLOAD_KEYS=OLD)
    assert (refused.code, "No worker encrypts" in refused.said()) == (1, True), refused


@pytest.mark.usefixtures("old_is_used")
def test_x5_a_key_that_nothing_needs_is_forgotten(running: Running) -> None:
    (row,) = running.json("payload", "keys", "--most", "5")["keys"]
    assert (row["id"], row["state"], row["open_workflows"]) == ("old", "decrypts", 0)
    missing = running.fascicle("payload", "keys", "--json", FASCICLE_PAYLOAD_KEYS=line("new", 2)).json()
    assert [row["state"] for row in missing["keys"]] == ["encrypts", "missing here"]
    assert running.fascicle("payload", "forget", "old", FASCICLE_PAYLOAD_KEYS=OLD).code == 2
    assert running.fascicle("payload", "forget", "none").code == 2
    assert running.json("payload", "forget", "old") == {"forgotten": "old"}
    assert running.fascicle("source", "list", FASCICLE_PAYLOAD_KEYS="").code == 0


def test_x5_a_new_key_is_good(running: Running) -> None:
    key = running.json("payload", "new-key")["key"]
    shown = running.fascicle("config", FASCICLE_PAYLOAD_KEYS=key).said()
    assert "FASCICLE_PAYLOAD_KEYS" in shown
    assert key.partition(":")[2] not in shown


def test_x5_the_embedded_stack_opens_payloads_for_its_web_ui_and_publishes_no_secret(
    running: Running,
) -> None:
    published = (running.desk.data / "stack.json").read_text()
    assert OLD.partition(":")[2] not in published
    assert CODEC_TOKEN not in published
    web_ui = running.json("status")["web_ui"]
    with httpx.Client(trust_env=False) as client:
        endpoint = client.get(f"{web_ui}/api/v1/settings").json()["Codec"]["Endpoint"]
        assert endpoint == f"http://127.0.0.1:{running.ops_port}/codec"
        asked = {"payloads": [_sealed("under lock")]}
        headers = {"Authorization": f"Bearer {CODEC_TOKEN}", "Origin": web_ui}
        answer = client.post(f"{endpoint}/decode", json=asked, headers=headers)
        assert answer.headers["access-control-allow-origin"] == web_ui
        (opened,) = answer.json()["payloads"]
        assert base64.b64decode(opened["data"]) == b"under lock"
        assert client.post(f"{endpoint}/decode", json=asked).status_code == 401


def _sealed(text: str) -> dict[str, object]:
    plain = Payload(metadata={"encoding": b"json/plain"}, data=text.encode())
    (sealed,) = asyncio.run(SealingCodec(keys("old")).encode([plain]))
    metadata = {name: base64.b64encode(value).decode() for name, value in sealed.metadata.items()}
    return {"metadata": metadata, "data": base64.b64encode(sealed.data).decode()}
