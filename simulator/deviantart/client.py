"""The control client's DeviantArt methods: the same as in process, over the control API."""

from typing import Any, Protocol

import orjson
from pydantic import TypeAdapter

from simulator.deviantart.records import (
    DEFAULT_SCOPE,
    AccountLimit,
    Deviation,
    Options,
    Refresh,
    StashItem,
    Submission,
    TokenPair,
)

DEVIATIONS = TypeAdapter(list[Deviation])
SUBMISSIONS = TypeAdapter(list[Submission])
ITEMS = TypeAdapter(list[StashItem])
REFRESHES = TypeAdapter(list[Refresh])
MAYBE_PAIR = TypeAdapter(TokenPair | None)


class Call(Protocol):
    async def __call__(
        self, method: str, path: str, body: Any = None, params: dict[str, str] | None = None
    ) -> bytes: ...


class DeviantArtClient:
    def __init__(self, call: Call) -> None:
        self._call = call

    async def configure(self, **changes: object) -> Options:
        """Change some of the options; see `Options`."""
        return Options.model_validate_json(await self._call("POST", "/deviantart/options", changes))

    async def add_account(
        self, name: str, *, scope: str = DEFAULT_SCOPE, auto_approve: bool | None = None
    ) -> TokenPair:
        body = {"name": name, "scope": scope, "auto_approve": auto_approve}
        return TokenPair.model_validate_json(await self._call("POST", "/deviantart/accounts", body))

    async def current_tokens(self, account: str) -> TokenPair | None:
        """The newest pair that is still known, to compare with a client's stored pair."""
        return MAYBE_PAIR.validate_json(await self._call("GET", f"{_of(account)}/tokens"))

    async def expire_access(self, account: str) -> int:
        return int(orjson.loads(await self._call("POST", f"{_of(account)}/expire"))["expired"])

    async def revoke(self, account: str, *, refresh_only: bool = False) -> None:
        """Revoke every token of the account; with `refresh_only`, access tokens stay valid."""
        await self._call("POST", f"{_of(account)}/revoke", {"refresh_only": refresh_only})

    async def limit(self, account: str, limit: AccountLimit) -> None:
        await self._call("POST", f"{_of(account)}/limit", limit.model_dump())

    async def post_by_hand(self, account: str, title: str, at: float | None = None) -> Deviation:
        """A deviation that the artist made on the site: in the gallery, but not in `published`."""
        answer = await self._call("POST", f"{_of(account)}/deviations", {"title": title, "at": at})
        return Deviation.model_validate_json(answer)

    async def published(self, account: str | None = None) -> list[Deviation]:
        return DEVIATIONS.validate_json(await self._list("published", account))

    async def submissions(self, account: str | None = None) -> list[Submission]:
        return SUBMISSIONS.validate_json(await self._list("submissions", account))

    async def orphans(self, account: str | None = None) -> list[StashItem]:
        return ITEMS.validate_json(await self._list("orphans", account))

    async def refreshes(self, account: str | None = None) -> list[Refresh]:
        return REFRESHES.validate_json(await self._list("refreshes", account))

    async def _list(self, what: str, account: str | None) -> bytes:
        return await self._call(
            "GET", f"/deviantart/{what}", params={"account": account} if account else None
        )


def _of(account: str) -> str:
    return f"/deviantart/accounts/{account}"
