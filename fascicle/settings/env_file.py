"""The file `.env` of the current folder; only our own variables are read from it."""

import os

from dotenv import dotenv_values

# Temporal's and OpenTelemetry's variables are read by their SDKs. Others, such as PYTHONPATH, would let the
# author of the folder run code in our processes.
_PREFIXES = ("FASCICLE_", "TEMPORAL_", "OTEL_")
_NAMES = frozenset({"DATABASE_URL"})


def load_env_file() -> None:
    """Load the file into the environment; a variable that is already there wins."""
    for name, value in dotenv_values(".env").items():
        if value is not None and _is_ours(name.upper()):
            os.environ.setdefault(name, value)


def _is_ours(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES)
