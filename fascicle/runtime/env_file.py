"""The file `.env` of the current folder, of which only our own variables are taken."""

import os

from dotenv import dotenv_values

# Temporal's and OpenTelemetry's are read by their SDKs. Anything else, such as PYTHONPATH, would let whoever
# wrote the folder run code in our processes.
_PREFIXES = ("FASCICLE_", "TEMPORAL_", "OTEL_")
_NAMES = frozenset({"DATABASE_URL"})


def load_env_file() -> None:
    """Into the environment, which wins."""
    for name, value in dotenv_values(".env").items():
        if value is not None and _is_ours(name.upper()):
            os.environ.setdefault(name, value)


def _is_ours(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES)
