"""The accounts of the simulated DeviantArt, their Sta.sh items, and their published deviations.

Tests check "published exactly once" here: `published` lists a deviation only if `publish` made it.
"""

from collections.abc import Callable
from pathlib import Path
from time import time

from simulator.deviantart.errors import ApiError
from simulator.deviantart.ledger import Ledger
from simulator.deviantart.limits import AccountLimits
from simulator.deviantart.records import (
    AccountLimit,
    Deviation,
    FormValues,
    Refresh,
    StashItem,
    Submission,
)
from simulator.deviantart.tokens import Tokens
from simulator.ids import derived_id, slug
from simulator.multipart import FormFile

NOT_FOUND = 7
ALREADY_PUBLISHED = 9
FIRST_ITEM_ID = 4_500_000_000_000_000
PAGE = "https://www.deviantart.com"


class Studio(Ledger):
    """`tokens` creates accounts and issues their tokens."""

    def __init__(self, state_file: Path | None = None, clock: Callable[[], float] = time) -> None:
        super().__init__(state_file, clock)
        self.tokens = Tokens(self)
        self.limits = AccountLimits()

    def clear(self) -> None:
        super().clear()
        self.limits.clear()

    def limit_account(self, name: str, limit: AccountLimit) -> None:
        self.account(name)
        self.limits.set(name, limit)

    def submit(
        self,
        account: str,
        title: str,
        tags: list[str],
        file: FormFile,
        fields: FormValues,
        item_id: int | None,
    ) -> StashItem:
        """Store a file as a new item, or in place of an item that is not published yet."""
        with self.changing():
            known = None if item_id is None else self._unpublished(account, item_id)
            item = StashItem(
                item_id=known.item_id if known else FIRST_ITEM_ID + self.next_number(),
                account=account,
                title=title,
                tags=tags,
                size=file.size,
                sha256=file.sha256,
                file_name=file.file_name,
                fields=fields,
                submits=known.submits + 1 if known else 1,
            )
            self.saved.items[item.item_id] = item
            kept = item.model_dump(include=set(Submission.model_fields))
            self.saved.submissions.append(Submission(at=self.clock(), overwrites=bool(known), **kept))
            return item

    def publish(self, account: str, item_id: int, options: FormValues, *, is_mature: bool) -> Deviation:
        with self.changing():
            item = self._unpublished(account, item_id)
            deviation = self._deviation(account, item.title, self.clock(), item)
            deviation.options = options
            deviation.tags = options.get("tags[]") or item.tags
            deviation.is_mature = is_mature
            item.deviation_id = deviation.deviation_id
            self.saved.deviations.append(deviation)
            return deviation

    def check_publishable(self, account: str, item_id: int) -> None:
        with self.lock:
            self._unpublished(account, item_id)

    def post_by_hand(self, account: str, title: str, at: float | None = None) -> Deviation:
        """A deviation that the artist made on the site: in the gallery, but not in `published`."""
        with self.changing():
            self.account(account)
            deviation = self._deviation(account, title, self.clock() if at is None else at, None)
            self.saved.deviations.append(deviation)
            return deviation

    def published(self, account: str | None = None) -> list[Deviation]:
        """The deviations that were published through the API, oldest first."""
        with self.lock:
            return [
                deviation.model_copy()
                for deviation in self.saved.deviations
                if deviation.item_id is not None and account in (None, deviation.account)
            ]

    def submissions(self, account: str | None = None) -> list[Submission]:
        with self.lock:
            return [s for s in self.saved.submissions if account in (None, s.account)]

    def orphans(self, account: str | None = None) -> list[StashItem]:
        """Unpublished items in Sta.sh."""
        with self.lock:
            items = self.saved.items.values()
            return [i.model_copy() for i in items if i.deviation_id is None and account in (None, i.account)]

    def refreshes(self, account: str | None = None) -> list[Refresh]:
        with self.lock:
            return [r for r in self.saved.refreshes if account in (None, r.account)]

    def gallery(self, account: str) -> list[Deviation]:
        """The deviations that the gallery shows now, newest first."""
        with self.lock:
            shown_until = self.clock() - self.options.gallery_delay
            shown = [d for d in self.saved.deviations if d.account == account and d.at <= shown_until]
            return sorted(shown, key=lambda deviation: deviation.at)[::-1]

    def deviation(self, deviation_id: str) -> Deviation | None:
        with self.lock:
            wanted = deviation_id.upper()
            return next((d for d in self.saved.deviations if d.deviation_id == wanted), None)

    def _unpublished(self, account: str, item_id: int) -> StashItem:
        item = self.saved.items.get(item_id)
        if item is None or item.account != account:
            raise ApiError("Stash item not found.", code=NOT_FOUND)
        if item.deviation_id is not None:
            code = NOT_FOUND if self.options.forgets_published else ALREADY_PUBLISHED
            raise ApiError("The item cannot be published.", code=code)
        return item

    def _deviation(self, account: str, title: str, at: float, item: StashItem | None) -> Deviation:
        number = self.next_number()
        deviation = Deviation(
            deviation_id=derived_id("deviation", str(number)).upper(),
            item_id=item.item_id if item else None,
            account=account,
            title=title,
            url=f"{PAGE}/{account}/art/{slug(title) or 'untitled'}-{1_000_000_000 + number}",
            at=at,
        )
        if item:
            deviation.size, deviation.sha256, deviation.submission = item.size, item.sha256, item.fields
        return deviation
