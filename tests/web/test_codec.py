"""The codec endpoint (X5): who may, what is refused, and what a browser's page may do."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette

from fascicle.settings.payload_keys import NO_KEYS, PayloadKeys
from fascicle.web.codec import CodecRoutes
from tests.payloads import keys

TOKEN = "correct-horse-battery"
UI = "https://temporal.example.com"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def serving(
    ring: PayloadKeys | None = None, token: str | None = TOKEN, clock: Clock | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    secret = None if token is None else SecretStr(token)
    routes = CodecRoutes(ring or keys("new", "old"), secret, [UI], clock or Clock()).routes()
    transport = httpx.ASGITransport(Starlette(routes=routes))
    async with httpx.AsyncClient(transport=transport, base_url="https://ops.test") as client:
        yield client


def payloads(*texts: str) -> dict[str, Any]:
    encoding = base64.b64encode(b"json/plain").decode()
    return {
        "payloads": [
            {"metadata": {"encoding": encoding}, "data": base64.b64encode(text.encode()).decode()}
            for text in texts
        ]
    }


async def test_x5_what_is_encoded_here_is_decoded_here() -> None:
    given = payloads('"one"', '"two"')
    async with serving() as client:
        sealed = (await client.post("/codec/encode", json=given, headers=BEARER)).json()
        assert given["payloads"][0]["data"] not in str(sealed)
        metadata = sealed["payloads"][0]["metadata"]
        assert base64.b64decode(metadata["encryption-key-id"]) == b"new"
        assert (await client.post("/codec/decode", json=sealed, headers=BEARER)).json() == given
        # What is plain anyway is let through; so is nothing.
        assert (await client.post("/codec/decode", json=given, headers=BEARER)).json() == given
        assert (await client.post("/codec/decode", json={}, headers=BEARER)).json() == {}


async def test_x5_what_cannot_be_decoded_says_which_key_is_missing() -> None:
    async with serving(keys("old")) as client:
        sealed = (await client.post("/codec/encode", json=payloads("secret"), headers=BEARER)).json()
    async with serving(keys("new")) as client:
        own = (await client.post("/codec/encode", json=payloads("readable"), headers=BEARER)).json()
        both = {"payloads": [*sealed["payloads"], *own["payloads"]]}
        shown = (await client.post("/codec/decode", json=both, headers=BEARER)).json()
        unreadable, readable = (base64.b64decode(payload["data"]).decode() for payload in shown["payloads"])
        assert "encrypted with the key 'old', which is not in FASCICLE_PAYLOAD_KEYS" in unreadable
        assert readable == "readable"
        # What is shown instead is not what is kept, should a tool send it back.
        kept = (await client.post("/codec/encode", json=shown, headers=BEARER)).json()
        assert kept["payloads"][0] == sealed["payloads"][0]


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \u00fc"]
)
async def test_x5_without_the_token_nothing_is_opened(authorization: str) -> None:
    async with serving() as client:
        headers = {b"Authorization": authorization.encode()}
        refused = await client.post("/codec/decode", content=b"{", headers=headers)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(("ring", "token"), [(None, None), (NO_KEYS, TOKEN)])
async def test_x5_without_keys_or_token_there_is_nothing(ring: PayloadKeys | None, token: str | None) -> None:
    async with serving(ring, token) as client:
        for method, path in (("POST", "decode"), ("POST", "encode"), ("GET", "login"), ("OPTIONS", "decode")):
            assert (await client.request(method, f"/codec/{path}", headers=BEARER)).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[", 400),
        (b"\xff", 400),
        (b'{"payloads": 1}', 400),
        (b'{"payloads": [{"data": "abcde"}]}', 400),
        (b'{"secrets": []}', 400),
        (b" " * (8 * 1024 * 1024 + 1), 413),
    ],
)
async def test_x7_bad_bodies_are_refused(body: bytes, status: int) -> None:
    async with serving() as client:
        refused = await client.post("/codec/decode", content=body, headers=BEARER)
    assert refused.status_code == status
    assert "secrets" not in refused.text


async def test_x5_a_browser_logs_in_and_its_web_ui_may_ask_for_a_while() -> None:
    clock = Clock()
    async with serving(clock=clock) as client:
        assert "password" in (await client.get("/codec/login")).text
        assert (await client.post("/codec/login", data={"token": "wrong"})).status_code == 401
        assert not client.cookies
        done = await client.post("/codec/login", data={"token": TOKEN})
        cookie = done.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Secure", "Path=/codec"):
            assert part in cookie
        assert TOKEN not in cookie

        async def status(**headers: str) -> int:
            return (await client.post("/codec/decode", json=payloads("x"), headers=headers)).status_code

        assert await status(Origin=UI) == 200
        # A cookie is sent by whatever page the browser is on: it counts for the Web UI's only.
        assert await status(Origin="https://evil.example.com") == 403
        assert await status() == 401
        clock.now += 12 * 3600 + 1
        assert await status(Origin=UI) == 401
        client.cookies.set("fascicle_codec", "99999999999.0123", domain="ops.test", path="/codec")
        assert await status(Origin=UI) == 401


@pytest.mark.parametrize(("origin", "allowed"), [(UI, UI), ("https://evil.example.com", None)])
async def test_x5_pages_of_the_web_ui_alone_may_read_the_answers(origin: str, allowed: str | None) -> None:
    async with serving() as client:
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        preflight = await client.options("/codec/decode", headers=asked)
        refused = await client.post("/codec/decode", json={}, headers={"Origin": origin})
    for response in (preflight, refused):
        assert response.headers.get("access-control-allow-origin") == allowed
        assert response.headers["vary"] == "Origin"
    if allowed:
        assert "x-namespace" in preflight.headers["access-control-allow-headers"]
        assert preflight.headers["access-control-allow-credentials"] == "true"
