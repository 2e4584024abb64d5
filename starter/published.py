"""What a stack writes down of its settings, for commands in other shells (`stack.json`)."""

import os

from fascicle.runtime.setting_names import is_setting, secret_variables

# The secrets that commands in another shell cannot do without: connecting an account, storing a post's files,
# registering commands. Any other secret is only the worker's: it stays out of the stack's file. What encrypts
# tokens and payloads must not lie beside them: whoever set the keys has them elsewhere.
SECRETS_FOR_COMMANDS = frozenset(
    {
        "FASCICLE_DEVIANTART_CLIENT_SECRET",
        "FASCICLE_S3_SECRET_ACCESS_KEY",
        "FASCICLE_DISCORD_BOT_TOKEN",
    }
)
# The SDK's own; a header may be a key, too.
_TEMPORALS_SECRETS = ("TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_DATA", "TEMPORAL_GRPC_META_")


def own_settings() -> dict[str, str]:
    """What this shell set and another shell, where the CLI is used, may not have.

    Nothing that we do not know: a misspelt secret is a secret all the same.
    """
    withheld = secret_variables() - SECRETS_FOR_COMMANDS
    return {
        name: value
        for name, value in os.environ.items()
        if (is_setting(name) and name.upper() not in withheld)
        or (name.startswith("TEMPORAL_") and not name.startswith(_TEMPORALS_SECRETS))
    }
