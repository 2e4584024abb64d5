"""Is an address of Temporal configured? A module of its own, because the client takes long to load."""

import os
from pathlib import Path

# The SDK's profile files on Linux, macOS and Windows, unless TEMPORAL_CONFIG_FILE says otherwise.
_PROFILES = (
    "${XDG_CONFIG_HOME}/temporalio/temporal.toml",
    "~/.config/temporalio/temporal.toml",
    "~/Library/Application Support/temporalio/temporal.toml",
    "${APPDATA}/temporalio/temporal.toml",
)


def names_a_server() -> bool:
    """Does the environment (or a Temporal profile file) say where Temporal is?"""
    if not _says_anything():
        return False
    from temporalio.envconfig import ClientConfig

    return bool(ClientConfig.load_client_connect_config().get("target_host"))


def _says_anything() -> bool:
    """If False, there is no need to load the SDK, which takes time and memory."""
    if any(name.startswith("TEMPORAL_") for name in os.environ):
        return True
    return any(Path(os.path.expandvars(place)).expanduser().is_file() for place in _PROFILES)
