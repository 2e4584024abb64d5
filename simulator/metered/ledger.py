"""Every call of a paid service; tests check "paid once" against it."""

import time
from threading import Lock
from typing import Generic, TypeVar

from simulator.metered.records import PaidCall, Tally

CallT = TypeVar("CallT", bound=PaidCall)


class CallLedger(Generic[CallT]):
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: list[CallT] = []
        self._under_way: set[int] = set()
        self._most_at_once = 0

    def open(self, call: CallT) -> None:
        """Give the call its number and count it as under way."""
        with self._lock:
            self._calls.append(call)
            call.number, call.received_at = len(self._calls), time.time()
            self._under_way.add(id(call))
            self._most_at_once = max(self._most_at_once, len(self._under_way))

    def answer(self, call: CallT, status: int, *, paid: bool, cost: float) -> None:
        """Record the answer and its cost, before it is sent: a fault may still hold or lose it."""
        with self._lock:
            call.answered_at, call.status = time.time(), status
            call.paid, call.cost = paid, cost
            self._under_way.discard(id(call))

    def note_sent(self, call: CallT, sent: bool) -> None:
        with self._lock:
            call.sent = sent
            self._under_way.discard(id(call))

    def calls(self) -> list[CallT]:
        """Oldest first."""
        with self._lock:
            return [call.model_copy() for call in self._calls]

    def tally(self) -> Tally:
        with self._lock:
            return Tally(
                calls=len(self._calls),
                paid=sum(call.paid for call in self._calls),
                cost=sum(call.cost for call in self._calls),
                under_way=len(self._under_way),
                most_at_once=self._most_at_once,
            )

    def clear(self) -> None:
        with self._lock:
            self._calls.clear()
            self._under_way.clear()
            self._most_at_once = 0
