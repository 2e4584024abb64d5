"""Whether anybody says where Temporal is. Apart from the client, which takes long to load."""

import os
from pathlib import Path

# Where the SDK looks for profiles unless TEMPORAL_CONFIG_FILE says otherwise, on Linux, macOS and Windows.
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
    """If not, there is nothing to ask the SDK, which takes its time and memory."""
    if any(name.startswith("TEMPORAL_") for name in os.environ):
        return True
    return any(Path(os.path.expandvars(place)).expanduser().is_file() for place in _PROFILES)
