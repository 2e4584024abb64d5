"""Whatever AO3 is asked for, and by whom: one gate for the whole installation (F3)."""

import pytest

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.ao3 import FLOOR_SECONDS
from fascicle.domain.gate import GatePolicy
from fascicle.net.http import Gated
from fascicle.sandbox import Sandbox
from fascicle.services.dependencies import archive_gate, standalone_http
from fascicle.settings.settings import Settings
from fascicle.sites.feeds.client import Feeds
from fascicle.sites.feeds.reader import FeedReader
from fascicle.sites.fic import AO3_GATE
from fascicle.sites.pages import Pages

FEED = "https://archiveofourown.org/tags/123/feed.atom"


def _settings(**values: object) -> Settings:
    return Settings.model_validate({"_env_file": None} | values)


@pytest.mark.parametrize(
    "url", [FEED, "https://ao3.org/works/1", "http://www.archiveofourown.gay/", "https://archiveofourown.org"]
)
def test_f3_every_address_of_the_archive_has_the_fics_gate_and_the_floor(url: str) -> None:
    settings = _settings(
        ao3_url="http://127.0.0.1:9/ao3", ao3_interval_seconds=0.1, allow_hosts=["127.0.0.1"]
    )
    gate = archive_gate(settings)(url)
    assert gate is not None
    assert gate.name == AO3_GATE
    assert gate.policy.floor == FLOOR_SECONDS
    assert gate.policy.lease > settings.http_timeout_seconds


def test_f3_a_server_of_ones_own_has_the_same_gate_and_others_have_none() -> None:
    settings = _settings(
        ao3_url="http://127.0.0.1:9/ao3", ao3_interval_seconds=0.1, allow_hosts=["127.0.0.1"]
    )
    gate_of = archive_gate(settings)
    assert gate_of("http://127.0.0.1:9/ao3/works/1") == Gated(AO3_GATE, settings.ao3_gate)
    assert gate_of("http://127.0.0.1:9/feeds/1") is None
    assert gate_of("https://archiveofourown.org.evil.example/works/1") is None


async def test_f3_a_command_without_the_gate_does_not_ask_the_archive(sandbox: Sandbox) -> None:
    async with standalone_http(_settings()) as http:
        feeds = Feeds(
            http,
            FeedReader(sandbox, max_entries=10),
            gate=GatePolicy(floor=0),
            youtube="https://youtube.test",
        )
        with pytest.raises(UsageError) as refused:
            await feeds.fetch(FEED)
    assert refused.value.code == "needs_gate"


async def test_f3_works_behind_a_feeds_items_are_not_looked_at(sandbox: Sandbox) -> None:
    async with standalone_http(_settings()) as http:
        pages = Pages(
            http,
            sandbox,
            gate=GatePolicy(floor=0),
            youtube="https://y.test",
            spotify="https://s.test",
            soundcloud="",
        )
        assert not pages.has_page("https://archiveofourown.org/works/1")
        assert pages.has_page("https://blog.test/1")
        assert pages.has_page("http://[no address")
