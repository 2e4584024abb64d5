"""`fascicle config`: the effective settings, without the secrets."""

import os
from typing import Any

from pydantic import SecretStr

from fascicle.settings.payload_settings import PayloadSettings
from fascicle.settings.request_settings import RequestSettings
from fascicle.settings.setting_names import unknown_in_words
from fascicle.settings.settings import Settings
from fascicle.settings.worker_settings import WorkerSettings
from fascicle.storage.database_url import parse_database_url
from starter.context import command, effective_settings, temporal_is_named
from starter.options import AsJson
from starter.output import print_json, print_note, print_pairs

MASK = "**********"


@command
async def config(as_json: AsJson = False) -> None:
    """The effective settings; secrets are masked."""

    shown = {**_ours(effective_settings()), **_temporals(), **_collectors()}
    print_json(shown) if as_json else print_pairs(shown)
    for told in unknown_in_words():
        print_note(f"! {told}")


def _ours(settings: Settings) -> dict[str, Any]:
    values = settings.model_dump(mode="json", exclude={"database_url", "site_variables"})
    # Common settings first, although they are declared after those of the parts.
    parts = {**WorkerSettings.model_fields, **RequestSettings.model_fields, **PayloadSettings.model_fields}
    names = sorted(values, key=lambda name: name in parts)
    named = {f"FASCICLE_{name.upper()}": values[name] for name in names}
    return {"DATABASE_URL": _without_password(settings.database_url), **named, **settings.site_variables}


def _temporals() -> dict[str, Any]:
    """Temporal's settings, which its SDK reads from TEMPORAL_* and from profile files."""
    from temporalio.envconfig import ClientConfig

    named = temporal_is_named()
    read = ClientConfig.load_client_connect_config()
    return {
        "TEMPORAL_ADDRESS": read.get("target_host") if named else None,
        "TEMPORAL_NAMESPACE": read.get("namespace", "default"),
        "TEMPORAL_API_KEY": MASK if read.get("api_key") else None,
        "TEMPORAL_TLS": bool(read.get("tls")),
    }


def _collectors() -> dict[str, Any]:
    """OpenTelemetry's own variables; without an endpoint they have no effect."""
    given = {name: value for name, value in sorted(os.environ.items()) if name.startswith("OTEL_") and value}
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": None, **{name: _told(name, given[name]) for name in given}}


def _told(name: str, value: str) -> str:
    """Masks headers, which contain the client's credentials, and addresses with a password."""
    return MASK if name.endswith("_HEADERS") or "@" in value else value


def _without_password(secret: SecretStr | None) -> str | None:
    return None if secret is None else parse_database_url(secret.get_secret_value()).masked(MASK)
