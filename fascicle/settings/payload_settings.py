"""Settings of payload encryption and its codec endpoint (docs/encryption.md)."""

from pydantic import SecretStr, field_validator
from pydantic_settings import BaseSettings

from fascicle.settings.payload_keys import NO_KEYS, PayloadKeys, parse_payload_keys
from fascicle.settings.setting_types import CommaList

_TOKEN_LEAST = 16


class PayloadSettings(BaseSettings):
    """A part of `Settings`, which holds the common configuration."""

    payload_keys: SecretStr | None = None
    """Set: payloads are encrypted. `id:base64,…`, the first seals; `plain` in its place: none seals."""
    codec_token: SecretStr | None = None
    """Set, and keys too: /codec on the ops server opens payloads for the Web UI and `temporal`."""
    codec_origins: CommaList = []
    """Addresses of Web UIs (https://temporal.example.com) whose pages may use /codec."""

    @field_validator("payload_keys")
    @classmethod
    def _of_payloads(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            parse_payload_keys(value.get_secret_value())
        return value

    @field_validator("codec_token")
    @classmethod
    def _hard_to_guess(cls, value: SecretStr | None) -> SecretStr | None:
        token = "" if value is None else value.get_secret_value()
        if value is not None and len(token) < _TOKEN_LEAST:
            raise ValueError(f"must have {_TOKEN_LEAST} characters or more: openssl rand -hex 24")
        if any(not 33 <= ord(char) < 127 for char in token):
            raise ValueError("must be one word of plain ASCII")
        return value

    @field_validator("codec_origins")
    @classmethod
    def _of_browsers(cls, value: list[str]) -> list[str]:
        for origin in value:
            scheme, _, host = origin.partition("://")
            if scheme not in ("http", "https") or not host or any(mark in host for mark in "/*?#@ "):
                raise ValueError("must be addresses as browsers send them: https://host or https://host:port")
        return value

    @property
    def payload(self) -> PayloadKeys:
        if self.payload_keys is None:
            return NO_KEYS
        return parse_payload_keys(self.payload_keys.get_secret_value())
