"""The names of our variables: all of them, those that hold secrets, and those that are set but unknown."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import SecretStr

from fascicle.settings.settings import Settings

_PREFIX = "FASCICLE_"
# The rest of such a name is a site that people describe themselves, so any may be right.
_OF_SITES = "FASCICLE_SITE_"
# Read by name and not as a setting: it is for one command (starter/main.py).
CORRELATION_VARIABLE = "FASCICLE_CORRELATION_ID"
# OpenTelemetry's own variables: one of them switches traces on.
TRACE_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def known_variables() -> set[str]:
    return {f"{_PREFIX}{name.upper()}" for name in Settings.model_fields}


def secret_variables() -> set[str]:
    return {
        f"{_PREFIX}{name.upper()}"
        for name, field in Settings.model_fields.items()
        if _is_secret(field.annotation)
    }


def is_setting(variable: str) -> bool:
    """Is it the name of a setting? Upper or lower case does not matter."""
    name = variable.upper()
    return name in known_variables() or name.startswith(_OF_SITES)


def unknown_settings(environment: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Variables that look like settings but are none, each with the setting that may be meant.

    Call it after `load_settings`, which puts .env into the environment.
    """
    wrong = [
        name
        for name, value in sorted(environment.items())
        if value
        and name.upper().startswith(_PREFIX)
        and not is_setting(name)
        and name != CORRELATION_VARIABLE
    ]
    return {name: _nearest(name.upper()) for name in wrong}


def unknown_in_words() -> list[str]:
    return [
        f"{name} is no setting" + (f": is {nearest} meant?" if nearest else ".")
        for name, nearest in unknown_settings().items()
    ]


def _nearest(name: str) -> str | None:
    """The most similar name, compared without the common prefix."""
    known = sorted(variable.removeprefix(_PREFIX) for variable in known_variables())
    found = get_close_matches(name.removeprefix(_PREFIX), known, n=1)
    return f"{_PREFIX}{found[0]}" if found else None


def _is_secret(annotation: Any) -> bool:
    return annotation is SecretStr or SecretStr in get_args(annotation)
