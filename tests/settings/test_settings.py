"""Settings: typed, checked, and never showing a secret (O8)."""

from pathlib import Path

import pytest

from fascicle.domain.errors import UsageError
from fascicle.settings.settings import load_settings


def test_o8_lists_are_comma_separated_and_trailing_slashes_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASCICLE_ALLOW_HOSTS", "127.0.0.1, sim.local:80,")
    monkeypatch.setenv("FASCICLE_MANGADEX_URL", "http://127.0.0.1:9/mangadex/")
    settings = load_settings()
    assert settings.allow_hosts == ["127.0.0.1", "sim.local:80"]
    assert settings.mangadex_url == "http://127.0.0.1:9/mangadex"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FASCICLE_OPS_PORT", "http"),
        ("FASCICLE_OPS_PORT", "70000"),
        ("FASCICLE_CADENCE_HOT_SECONDS", "0"),
        ("FASCICLE_AO3_INTERVAL_SECONDS", "19.9"),
        ("FASCICLE_AO3_INTERVAL_SECONDS", "inf"),
        ("FASCICLE_AO3_THINK_SECONDS", "1,inf"),
        ("FASCICLE_MANGADEX_URL", "mangadex.org"),
        ("FASCICLE_LOG_LEVEL", "loud"),
        ("FASCICLE_USER_AGENT", "two\nlines"),
        ("DATABASE_URL", "mysql://x"),
        ("FASCICLE_MAX_POLLERS", "1"),
        ("FASCICLE_MAX_CACHED_WORKFLOWS", "0"),
        ("FASCICLE_WORKER_SLOTS", "many"),
        ("FASCICLE_DEPLOYMENT_NAME", "fascicle.eu"),
        ("FASCICLE_BUILD_ID", "the second"),
    ],
)
def test_o8_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError) as wrong:
        load_settings()
    assert variable in wrong.value.message


def test_o8_every_wrong_setting_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASCICLE_OPS_PORT", "x")
    monkeypatch.setenv("FASCICLE_DRAIN_SECONDS", "-1")
    with pytest.raises(UsageError) as wrong:
        load_settings()
    assert "FASCICLE_OPS_PORT" in wrong.value.message
    assert "FASCICLE_DRAIN_SECONDS" in wrong.value.message


def test_x5_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:hunter2@h/d")
    settings = load_settings()
    assert "hunter2" not in repr(settings) + str(settings.model_dump(mode="json"))


def test_o8_dotenv_counts_and_the_environment_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FASCICLE_LOG_LEVEL=ERROR\nFASCICLE_DRAIN_SECONDS=7\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FASCICLE_LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("FASCICLE_DRAIN_SECONDS", "restored by monkeypatch afterwards")
    monkeypatch.delenv("FASCICLE_DRAIN_SECONDS")
    settings = load_settings()
    assert (settings.log_level, settings.drain_seconds) == ("DEBUG", 7)
    monkeypatch.delenv("FASCICLE_DRAIN_SECONDS")


@pytest.mark.parametrize(
    ("url", "allowed", "is_own"),
    [
        ("https://archiveofourown.org", "", False),
        ("https://archiveofourown.org", "archiveofourown.org", False),
        ("https://mirror.archiveofourown.gay", "mirror.archiveofourown.gay", False),
        ("https://ao3.example.org", "", False),
        ("http://127.0.0.1:9/ao3", "127.0.0.1", True),
        ("http://127.0.0.1:9/ao3", "127.0.0.1:9", True),
    ],
)
def test_f3_ao3s_distance_may_be_longer_and_is_shorter_only_at_a_server_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, url: str, allowed: str, is_own: bool
) -> None:
    monkeypatch.setenv("FASCICLE_AO3_URL", url)
    monkeypatch.setenv("FASCICLE_ALLOW_HOSTS", allowed)
    monkeypatch.setenv("FASCICLE_AO3_INTERVAL_SECONDS", "19.9")
    if is_own:
        assert load_settings().ao3_gate.floor == 19.9
    else:
        with pytest.raises(UsageError, match="FASCICLE_AO3_INTERVAL_SECONDS: must be 20 or more"):
            load_settings()
    monkeypatch.setenv("FASCICLE_AO3_INTERVAL_SECONDS", "45")
    assert load_settings().ao3_gate.floor == 45


def test_f1_fic_sites_can_be_asked_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASCICLE_FFN_URL", "http://127.0.0.1:9/ffn/")
    monkeypatch.setenv("FASCICLE_SITE_FICBOOK_NET_URL", "http://127.0.0.1:9/fb")
    bases = load_settings().fic_bases
    assert bases["https://www.fanfiction.net"] == "http://127.0.0.1:9/ffn"
    assert bases["https://ficbook.net"] == "http://127.0.0.1:9/fb"
