"""`fascicle setup` on services that know nothing of us yet, and on those it must not touch."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.domain.names import SEARCH_ATTRIBUTES, new_id
from fascicle.temporal.client import missing_search_attributes
from starter.operations import setup as setup_command
from tests.starter.commandline import Outcome
from tests.starter.conftest import Running


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url.replace("postgresql+asyncpg", "postgresql"))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def empty(running: Running) -> Iterator[dict[str, str]]:
    """An empty database and the name of a namespace that does not exist, on the running stack's servers."""
    url, name = running.json("config")["DATABASE_URL"], f"setup_{new_id()[:8]}"
    asyncio.run(execute(url, f"create database {name}"))
    yield {"DATABASE_URL": url.replace("/fascicle?", f"/{name}?"), "TEMPORAL_NAMESPACE": new_id()}
    asyncio.run(execute(url, f"drop database {name} with (force)"))


def worker(running: Running, env: dict[str, str]) -> Outcome:
    desk = running.desk
    return Outcome(**desk.commands.run(cwd=desk.folder, env=desk.env | env, program="worker"))


def test_x7_a_namespace_that_does_not_exist_is_named_with_what_to_do(
    running: Running, empty: dict[str, str]
) -> None:
    services = empty | {"TEMPORAL_ADDRESS": running.temporal_address, "FASCICLE_OPS_PORT": "0"}
    for outcome in (
        running.fascicle("setup", **empty),
        running.fascicle("doctor", **empty),
        worker(running, services),
    ):
        assert outcome.code == 1
        assert f"no namespace '{empty['TEMPORAL_NAMESPACE']}'" in outcome.said()
        assert "fascicle setup --create-namespace" in outcome.said()
        assert "Traceback" not in outcome.said()


def test_o6_doctor_says_who_may_use_the_embedded_temporal_and_how_much_room_is_left(running: Running) -> None:
    outcome = running.fascicle("doctor", "--json")
    states = {check["check"]: check["state"] for check in outcome.json()}
    assert (states["disk"], states["temporal access"]) == ("ok", "note")
    assert outcome.code == 0, "a note is no failure"


def test_o7_setup_makes_the_namespace_and_all_that_is_in_it_once(
    running: Running, empty: dict[str, str]
) -> None:
    first = running.fascicle("setup", "--create-namespace", "--json", **empty, FASCICLE_HISTORY_DAYS="9")
    assert first.json() == {
        "namespace_created": True,
        "history_days": 9,
        "search_attributes_added": list(SEARCH_ATTRIBUTES),
        "workflows_started": 0,
    }
    assert asyncio.run(_missing_attributes(running, empty)) == []
    assert len(running.fascicle("schedule", "list", "--json", **empty).json()) == 6

    again = running.fascicle("setup", "--create-namespace", "--json", **empty)
    assert again.json() == {
        "namespace_created": False,
        "history_days": 9,  # it was not set this time, so what is there stays
        "search_attributes_added": [],
        "workflows_started": 0,
    }
    changed = running.fascicle("setup", "--json", **empty, FASCICLE_HISTORY_DAYS="4")
    assert changed.json()["history_days"] == 4


async def _missing_attributes(running: Running, env: dict[str, str]) -> list[str]:
    client = await Client.connect(running.temporal_address, namespace=env["TEMPORAL_NAMESPACE"])
    return await missing_search_attributes(client)


def test_x7_a_database_of_a_newer_version_is_left_as_it_is(running: Running, empty: dict[str, str]) -> None:
    running.fascicle("setup", "--create-namespace", **empty)
    asyncio.run(execute(empty["DATABASE_URL"], "update alembic_version set version_num = '9999'"))
    services = empty | {"TEMPORAL_ADDRESS": running.temporal_address, "FASCICLE_OPS_PORT": "0"}
    for outcome in (
        running.fascicle("setup", **empty),
        running.fascicle("db", "upgrade", **empty),
        running.fascicle("db", "restored", **empty),
        running.fascicle("doctor", **empty),
        worker(running, services),
    ):
        assert outcome.code == 1
        assert "newer than this version of Fascicle" in outcome.said()
        assert "run the newer version, or restore" in outcome.said()
        assert "Traceback" not in outcome.said()


class Starting:
    """A service that answers at the fourth attempt."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.attempts = 0

    async def __call__(self) -> int:
        self.attempts += 1
        if self.attempts < 4:
            raise self.error
        return self.attempts


@pytest.mark.parametrize(
    "error",
    [RetryableError("database_down", "no answer yet"), RPCError("no", RPCStatusCode.UNAVAILABLE, b"")],
)
async def test_o7_setup_waits_for_services_that_are_still_starting(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_command, "PAUSE_SECONDS", 0)
    assert await setup_command.once_they_answer(Starting(error), seconds=60) == 4


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (RetryableError("database_down", "no answer yet"), 0),
        (RPCError("no", RPCStatusCode.PERMISSION_DENIED, b""), 60),
        (PermanentError("database_newer", "no"), 60),
    ],
)
async def test_o7_setup_does_not_wait_for_what_waiting_does_not_help(
    error: Exception, seconds: float
) -> None:
    service = Starting(error)
    with pytest.raises(type(error)):
        await setup_command.once_they_answer(service, seconds=seconds)
    assert service.attempts == 1
