"""The demo's artist: an account at the demo's own DeviantArt, drafts, and an automation to publish them."""

import asyncio
import struct
import tempfile
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from temporalio.client import Client

from fascicle.domain.publishing.automation import FixedInterval
from fascicle.domain.publishing.automation_defaults import AutomationDefaults
from fascicle.jobs.publishing import post_job
from fascicle.services.dependencies import Dependencies
from fascicle.services.publishing.new_post import NewPost, create_post
from fascicle.sites.deviantart.oauth import SITE, TokenPair
from fascicle.storage.database import transaction
from fascicle.storage.publishing import account as accounts
from fascicle.storage.publishing import automation as automations
from fascicle.storage.publishing import firing
from fascicle.storage.publishing import post as posts
from fascicle.storage.publishing.automation import NewAutomation
from fascicle.temporal.workflow_start import start_job
from simulator.client import SimulatorControl

ARTIST = "demo-artist"
AUTOMATION = "every-five-minutes"
_SUBJECTS = ("Lamp", "Kettle", "Tram", "Harbour", "Moth", "Key", "Staircase", "Fish", "Umbrella", "Clock")
_MOODS = ("at Dusk", "in Fog", "Unfolded", "after Rain")
_DRAFTS = 20
_SCHEDULED = 6
_REFRESH_SECONDS = 90 * 86400.0


async def show_art(dependencies: Dependencies, client: Client, simulator_url: str, user_id: str) -> str:
    """Connect the artist, fill up the drafts, schedule the next few. Safe to repeat. Returns its name."""
    account_id = await _connect(dependencies, simulator_url, user_id)
    fresh = await _fill_up_drafts(dependencies, account_id)
    await _automate(dependencies, account_id)
    for place, post_id in enumerate(fresh[:_SCHEDULED], start=1):
        async with transaction(dependencies.engine) as connection:
            await posts.schedule(connection, post_id, datetime.now(UTC) + timedelta(seconds=10 * place))
        await start_job(client, post_job(post_id, title="art of the demo", account_id=account_id))
    return ARTIST


async def _connect(dependencies: Dependencies, simulator_url: str, user_id: str) -> str:
    async with SimulatorControl(simulator_url) as control:
        pair = await control.deviantart.add_account(ARTIST)
    given = TokenPair(pair.access_token, pair.refresh_token, pair.expires_in, _REFRESH_SECONDS)
    async with transaction(dependencies.engine) as connection:
        account_id, _ = await accounts.claim(
            connection, site=SITE, site_user_id=pair.userid, name=ARTIST, user_id=user_id
        )
        await accounts.connect(connection, account_id, await dependencies.tokens.seal(account_id, given))
    return account_id


async def _fill_up_drafts(dependencies: Dependencies, account_id: str) -> list[str]:
    async with transaction(dependencies.engine) as connection:
        there = await firing.count_drafts(connection, account_id)
        made = len(await posts.listing(connection, account_id=account_id, state=None, limit=10_000))
    fresh = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(made, made + _DRAFTS - there):
            mood = _MOODS[number // len(_SUBJECTS) % len(_MOODS)]
            title = f"{_SUBJECTS[number % len(_SUBJECTS)]} {mood}"
            path = Path(folder) / f"{title.lower().replace(' ', '-')}.png"
            await asyncio.to_thread(path.write_bytes, picture(number))
            fresh.append(await create_post(dependencies, account_id, NewPost([path], title, {})))
    return fresh


async def _automate(dependencies: Dependencies, account_id: str) -> None:
    new = NewAutomation(
        account_id=account_id,
        name=AUTOMATION,
        rule=FixedInterval(kind="fixed_interval", every_minutes=5),
        time_zone="UTC",
        defaults=AutomationDefaults(tags=["demo", "fascicle"], noai=True),
    )
    async with transaction(dependencies.engine) as connection:
        await automations.create(connection, new, datetime.now(UTC))


def picture(number: int, side: int = 64) -> bytes:
    """A small PNG, different for each number."""
    tint = (number * 37 % 256, number * 91 % 256, number * 53 % 256)
    rows = b"".join(
        b"\0" + bytes((x * 4 ^ y * 4 ^ tint[c]) & 255 for x in range(side) for c in range(3))
        for y in range(side)
    )
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
