"""A vault with a key of the tests' own."""

import base64
from pathlib import Path

from fascicle.storage.operations.vault import Vault

TOKEN_KEY = "test:" + base64.b64encode(bytes(range(32))).decode()


def a_vault(keys: str | None = TOKEN_KEY, made_file: Path = Path("no-token-keys")) -> Vault:
    return Vault(keys=keys, file=None, made_file=made_file)
