"""Variables that nobody reads, and those that nobody else should (O8, X5)."""

from pathlib import Path

import pytest

from fascicle.settings.setting_names import secret_variables, unknown_settings
from fascicle.settings.settings import load_settings
from starter.stack.stack_file import SECRETS_FOR_COMMANDS, own_settings
from tests.deploy.files import example_variables

SECRETS = {
    *secret_variables(),
    "FASCICLE_payload_keys",
    "FASCICLE_PAYLOAD_KEY",
    "FASCICLE_CORRELATION_ID",
    "TEMPORAL_API_KEY",
    "TEMPORAL_TLS_CLIENT_KEY_DATA",
    "TEMPORAL_GRPC_META_AUTHORIZATION",
}


def test_o8_a_setting_that_is_none_is_found_and_the_nearest_named() -> None:
    assert unknown_settings(
        {
            "FASCICLE_PAYLOAD_KEY": "x",
            "FASCICLE_XYZZY": "x",
            "FASCICLE_PAYLOD_KEYS": "",
            "FASCICLE_SITE_INKPAGES_URL": "x",
            "FASCICLE_CORRELATION_ID": "x",
            "FASCICLE_DATABASE_URL": "x",
            "fascicle_log_level": "INFO",
            "PATH": "x",
        }
    ) == {"FASCICLE_PAYLOAD_KEY": "FASCICLE_PAYLOAD_KEYS", "FASCICLE_XYZZY": None}


def test_o8_what_is_misspelt_in_dotenv_is_found_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FASCICLE_LOG_LEVLE=ERROR\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FASCICLE_LOG_LEVLE", "restored by monkeypatch afterwards")
    monkeypatch.delenv("FASCICLE_LOG_LEVLE")
    load_settings()
    assert unknown_settings()["FASCICLE_LOG_LEVLE"] == "FASCICLE_LOG_LEVEL"
    monkeypatch.delenv("FASCICLE_LOG_LEVLE")


def test_o8_the_example_of_compose_is_known() -> None:
    assert unknown_settings(dict.fromkeys(example_variables(), "x")) == {}


def test_x5_secrets_are_published_to_other_shells_only_where_commands_need_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {"FASCICLE_SMTP_PASSWORD", "FASCICLE_MAIL_URL", "FASCICLE_CLIENT_TOKEN"} <= secret_variables()
    assert secret_variables() >= SECRETS_FOR_COMMANDS
    for name in SECRETS:
        monkeypatch.setenv(name, f"secret of {name}")
    monkeypatch.setenv("FASCICLE_LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("FASCICLE_SITE_INKPAGES_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "here")
    published = own_settings()
    values = set(published.values())
    assert {name for name in SECRETS if f"secret of {name}" in values} == SECRETS_FOR_COMMANDS
    assert {"FASCICLE_LOG_LEVEL", "FASCICLE_SITE_INKPAGES_URL", "TEMPORAL_NAMESPACE"} <= set(published)
