"""One valid token per account, renewed by one writer at a time (P6)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError
from fascicle.runtime.tokens import Tokens
from fascicle.sites.deviantart_oauth import TokenPair
from fascicle.storage import account as accounts
from fascicle.storage.database import transaction
from fascicle.storage.vault import ACCESS, REFRESH
from tests.harness import Harness


class Site:
    """DeviantArt's rule: a refresh token is good for one use. `fault` is what happens after it was used."""

    def __init__(self) -> None:
        self.good = "refresh-0"
        self.refreshes = 0
        self.fault: FascicleError | None = None

    async def refresh(self, account_id: str, refresh_token: str) -> TokenPair:
        self.refreshes += 1
        await asyncio.sleep(0.05)
        if refresh_token != self.good:
            raise PermanentError("refresh_refused", "DeviantArt no longer accepts the refresh token.")
        self.good = f"refresh-{self.refreshes}"
        if self.fault is not None:
            raise self.fault
        return TokenPair(f"access-{self.refreshes}", self.good, 3600)
