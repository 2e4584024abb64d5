"""Rate limits of single accounts; DeviantArt has them in addition to those of applications."""

from threading import Lock

from simulator.deviantart.records import AccountLimit
from simulator.rate_limit import SlidingWindow


class AccountLimits:
    """In memory only: like faults, they do not outlive the process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._limits: dict[str, AccountLimit] = {}
        self._refused: dict[str, int] = {}
        self._windows: dict[str, SlidingWindow] = {}

    def set(self, account: str, limit: AccountLimit) -> None:
        with self._lock:
            self._limits[account] = limit
            self._refused[account] = 0
            self._windows.pop(account, None)
            if limit.requests_per_second is not None:
                self._windows[account] = SlidingWindow(limit.requests_per_second)

    def clear(self) -> None:
        with self._lock:
            self._limits.clear()
            self._windows.clear()

    def refusal(self, account: str) -> AccountLimit | None:
        """The limit that refuses this request, or None. It counts the request: call it once for each."""
        with self._lock:
            limit = self._limits.get(account)
            if limit is None:
                return None
            if limit.refuse == -1 or self._refused[account] < limit.refuse:
                self._refused[account] += 1
                return limit
            window = self._windows.get(account)
            return limit if window and window.wait_before_next() > 0 else None
