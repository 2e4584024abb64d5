"""The sale queue over HTTP: who may, what is refused, and how it is said (P7)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.applications import Starlette

from fascicle.services.dependencies import utc_now
from fascicle.storage.database import open_engine, transaction
from fascicle.web.sales import SaleRoutes
from tests.drafts import add_account, add_sale

TOKEN = "correct-horse"


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


@asynccontextmanager
async def serving(engine: AsyncEngine, token: str | None = TOKEN) -> AsyncIterator[httpx.AsyncClient]:
    secret = None if token is None else SecretStr(token)
    app = Starlette(routes=SaleRoutes(engine, secret, 600, utc_now).routes())
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://ops.test", headers=headers
    ) as client:
        yield client


async def test_p7_next_complete_and_fail_over_http(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await add_account(connection)
        await add_sale(connection, "moon")
        await add_sale(connection, "sun")
    async with serving(engine) as client:
        item = (await client.post("/sales/next", json={"client": "shop"})).json()
        assert (item["post_id"], item["title"], item["price"]) == ("moon", "Moon", {"points": 80})
        assert item["urls"] == ["https://art.test/moon"]
        done = await client.post(f"/sales/{item['id']}/complete", json={"claim": item["claim"]})
        assert (done.status_code, done.json()) == (200, {"id": item["id"], "state": "done"})
        other = (await client.post("/sales/next", json={"client": "shop"})).json()
        wrong = await client.post(f"/sales/{other['id']}/complete", json={"claim": item["claim"]})
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (409, "claim_lost")
        failure = {"claim": other["claim"], "error": "shop is shut", "retry": False}
        failed = await client.post(f"/sales/{other['id']}/fail", json=failure)
        assert failed.json()["state"] == "failed"
        nothing = await client.post("/sales/next", json={"client": "shop"})
        assert (nothing.status_code, nothing.content) == (204, b"")


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \u00fc"]
)
async def test_x5_without_the_token_nothing_is_told(engine: AsyncEngine, authorization: str) -> None:
    async with serving(engine) as client:
        headers = {b"Authorization": authorization.encode()}
        refused = await client.post("/sales/next", content=b"{", headers=headers)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json()["error"]["code"] == "unauthorized"


async def test_p7_without_a_token_set_there_is_nothing(engine: AsyncEngine) -> None:
    async with serving(engine, token=None) as client:
        assert (await client.post("/sales/next", json={"client": "shop"})).status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/sales/next", b"", 400, "invalid_body"),
        ("/sales/next", b"[", 400, "invalid_body"),
        ("/sales/next", b"{}", 400, "invalid_body"),
        ("/sales/next", b'{"client": ""}', 400, "invalid_body"),
        ("/sales/next", b'{"client": "a\\u0000"}', 400, "invalid_body"),
        ("/sales/next", b'{"client": "a", "more": 1}', 400, "invalid_body"),
        ("/sales/next", b" " * 70_000, 413, "too_large"),
        ("/sales/7/complete", b'{"claim": "x"}', 404, "unknown_sale"),
        ("/sales/x/complete", b'{"claim": "x"}', 404, "unknown_sale"),
        ("/sales/99999999999999999999/complete", b'{"claim": "x"}', 404, "unknown_sale"),
        ("/sales/7/fail", b'{"claim": "x", "error": "y", "retry": "no"}', 400, "invalid_body"),
    ],
)
async def test_x7_bad_requests_are_told_as_json(
    engine: AsyncEngine, path: str, body: bytes, status: int, code: str
) -> None:
    async with serving(engine) as client:
        refused = await client.post(path, content=body)
    shown: dict[str, Any] = refused.json()
    assert (refused.status_code, shown["error"]["code"]) == (status, code)


async def test_x7_a_lost_database_is_not_the_clients_fault() -> None:
    engine = open_engine("postgresql://u:geheim@127.0.0.1:1/x")
    async with serving(engine) as client:
        refused = await client.post("/sales/next", json={"client": "shop"})
    await engine.dispose()
    assert refused.status_code == 503
    assert "geheim" not in refused.text
