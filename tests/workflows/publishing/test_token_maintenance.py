"""Keeping accounts connected (P6): renewed while they rest, warned of in time, paused in the end."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from fascicle.domain.names import MAIN_QUEUE, new_id
from simulator.faults import Fault
from tests.accounts import connect_account, let_rest
from tests.harness import Harness, eventually
from workflows.publishing.token_maintenance import TokenMaintenanceResult, TokenMaintenanceWorkflow

TOKEN = "/deviantart/oauth2/token"


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"gate_patience_seconds": 0.1}


async def maintain(stack: Harness) -> TokenMaintenanceResult:
    return await stack.client.execute_workflow(
        TokenMaintenanceWorkflow.run, id=f"maintenance-{new_id()}", task_queue=MAIN_QUEUE
    )


async def owner(stack: Harness, name: str = "ann") -> str:
    """A user who is told through the simulator's sink, for want of a mail server."""
    return await stack.reader(name)


async def mail_is_sent(stack: Harness) -> None:
    await eventually(lambda: stack.value("select bool_and(state = 'sent') from mail"), what="the mail")


def titles(stack: Harness) -> list[str]:
    return [message.title for message in stack.simulator.sink.messages()]


async def test_p6_what_rests_is_renewed_and_the_rest_left_alone(stack: Harness) -> None:
    await connect_account(stack, "ann")
    await let_rest(stack)
    await connect_account(stack, "bob")
    assert await maintain(stack) == TokenMaintenanceResult(due=1, renewed=1)
    assert await maintain(stack) == TokenMaintenanceResult()
    rows = await stack.rows("select name, generation from account order by name")
    assert [(row["name"], row["generation"]) for row in rows] == [("ann", 2), ("bob", 1)]


async def test_p6_one_bad_account_does_not_stop_the_others(stack: Harness) -> None:
    user = await owner(stack)
    for name in ("ann", "bob", "cleo"):
        await connect_account(stack, name, user_id=user)
    await let_rest(stack)
    await stack.execute("update account set refresh_token = 'v1.gone.AAAA' where name = 'ann'")
    stack.simulator.deviantart.tokens.revoke_account("bob")
    done = TokenMaintenanceResult(due=3, renewed=1, failed=1, paused=1)
    assert await maintain(stack) == done
    await mail_is_sent(stack)
    assert titles(stack) == ["Fascicle: bob must be connected again"]
    assert await stack.value("select paused_code from account where name = 'bob'") == "refresh_refused"
    await maintain(stack)
    assert await stack.value("select count(*) from mail") == 1


async def test_x2_an_account_told_to_wait_is_a_timer_and_no_failure(stack: Harness) -> None:
    account = await connect_account(stack)
    await let_rest(stack)
    stack.simulator.faults.add(Fault(path=TOKEN, status=429, retry_after=1, count=1))
    handle = await stack.client.start_workflow(
        TokenMaintenanceWorkflow.run, id="maintenance-waits", task_queue=MAIN_QUEUE
    )
    assert await handle.result() == TokenMaintenanceResult(due=1, renewed=1)
    timers = [
        e for e in (await handle.fetch_history()).events if e.HasField("timer_started_event_attributes")
    ]
    assert len(timers) == 1
    assert account in timers[0].user_metadata.summary.data.decode()


async def test_p6_warnings_come_once_per_generation_and_level(stack: Harness) -> None:
    account = await connect_account(stack, user_id=await owner(stack))
    stack.simulator.faults.add(Fault(path=TOKEN, status=503))
    for days, warned in ((6, 1), (5, 0), (0.9, 1), (0.5, 0)):
        await let_rest(stack, days_left=days)
        assert await maintain(stack) == TokenMaintenanceResult(due=1, failed=1, warned=warned)
        await mail_is_sent(stack)
    assert titles(stack) == [
        "Fascicle loses access to ann in 6 days",
        "URGENT: Fascicle loses access to ann within a day",
    ]
    assert await connect_account(stack) == account
    await let_rest(stack, days_left=6)
    assert (await maintain(stack)).warned == 1
    assert await stack.value("select paused_at from account") is None


async def test_x5_no_token_in_history_logs_or_errors(
    stack: Harness, capsys: pytest.CaptureFixture[str]
) -> None:
    await connect_account(stack, "ann")
    await connect_account(stack, "bob")
    secrets = [secret for name in ("ann", "bob") for secret in _secrets(stack, name)]
    await let_rest(stack)
    stack.simulator.faults.add(Fault(path=TOKEN, kind="half_json", count=1))
    stack.simulator.faults.add(Fault(path=TOKEN, kind="reset", count=1))
    stack.simulator.deviantart.tokens.revoke_account("bob")
    handle = await stack.client.start_workflow(
        TokenMaintenanceWorkflow.run, id="maintenance-secret", task_queue=MAIN_QUEUE
    )
    await handle.result()
    secrets += [*_secrets(stack, "ann"), stack.simulator.deviantart.options.client_secret]
    history = json.loads((await handle.fetch_history()).to_json())
    rows = await stack.rows("select last_error, subject, body from mail")
    rows += await stack.rows("select paused_reason from account")
    said = capsys.readouterr()
    everything = " ".join([*_texts(history), json.dumps(rows), said.out, said.err])
    assert "account_paused" in everything
    assert [secret for secret in secrets if secret in everything] == []


def _secrets(stack: Harness, account: str) -> list[str]:
    pair = stack.simulator.deviantart.tokens.current(account)
    return [pair.access_token, pair.refresh_token] if pair else []


def _texts(value: Any) -> Iterator[str]:
    """Every string of a history, payloads decoded."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "data" and isinstance(inner, str):
                yield base64.b64decode(inner).decode("utf-8", "replace")
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    else:
        yield str(value)
