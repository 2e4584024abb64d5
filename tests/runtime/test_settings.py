"""Settings: typed, checked, and never showing a secret (O8)."""

from pathlib import Path

import pytest

from fascicle.domain.errors import UsageError
from fascicle.runtime.settings import load_settings


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
        ("FASCICLE_MANGADEX_URL", "mangadex.org"),
        ("FASCICLE_LOG_LEVEL", "loud"),
        ("FASCICLE_USER_AGENT", "two\nlines"),
        ("DATABASE_URL", "mysql://x"),
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
