"""The settings that a running stack writes to `stack.json`, for commands in other shells."""

import os

from fascicle.settings.setting_names import is_setting, secret_variables

# The secrets that commands in another shell need: for connecting an account, storing a post's files,
# registering commands. Only the worker needs the others, so they stay out of the file. Encryption keys must
# not be stored beside the data that they encrypt; the operator has them elsewhere.
SECRETS_FOR_COMMANDS = frozenset(
    {
        "FASCICLE_DEVIANTART_CLIENT_SECRET",
        "FASCICLE_S3_SECRET_ACCESS_KEY",
        "FASCICLE_DISCORD_BOT_TOKEN",
    }
)
# Secrets of Temporal's SDK; a header may be a key too.
_TEMPORALS_SECRETS = ("TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_DATA", "TEMPORAL_GRPC_META_")


def own_settings() -> dict[str, str]:
    """The settings of this shell that commands in another shell may lack.

    Unknown names are left out: one may be a misspelt secret.
    """
    withheld = secret_variables() - SECRETS_FOR_COMMANDS
    return {
        name: value
        for name, value in os.environ.items()
        if (is_setting(name) and name.upper() not in withheld)
        or (name.startswith("TEMPORAL_") and not name.startswith(_TEMPORALS_SECRETS))
    }
