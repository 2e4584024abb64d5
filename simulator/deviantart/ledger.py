"""The stored state of the simulated DeviantArt, under one lock and in one file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from time import time

from pydantic import ValidationError

from simulator.deviantart.records import Account, Options, Saved
from simulator.ids import derived_id
from simulator.state import StateFileError, replace_file


class UnknownAccountError(Exception):
    pass


class Ledger:
    """Safe to use from several threads. A change is in the file before the call that made it returns."""

    def __init__(self, state_file: Path | None = None, clock: Callable[[], float] = time) -> None:
        self.lock = RLock()
        self.clock = clock
        self.saved = _load(state_file) if state_file and state_file.exists() else Saved()
        self._state_file = state_file
        self._changes_under_way = 0

    @property
    def options(self) -> Options:
        return self.saved.options

    def configure(self, **changes: object) -> Options:
        """Change some of the options; see `Options`."""
        with self.changing():
            self.saved.options = Options.model_validate({**self.saved.options.model_dump(), **changes})
            return self.saved.options

    def clear(self) -> None:
        with self.changing():
            self.saved = Saved()

    def account(self, name: str) -> Account:
        try:
            return self.saved.accounts[name]
        except KeyError:
            raise UnknownAccountError(f"no account {name}") from None

    def open_account(self, name: str, *, auto_approve: bool | None = None) -> Account:
        """The account of that name; creates it if it does not exist."""
        with self.changing():
            userid = derived_id("deviantart", name).upper()
            account = self.saved.accounts.setdefault(name, Account(name=name, userid=userid))
            if auto_approve is not None:
                account.auto_approve = auto_approve
            return account

    def next_number(self) -> int:
        self.saved.last_number += 1
        return self.saved.last_number

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock, and write the file once when the outermost change is done."""
        with self.lock:
            self._changes_under_way += 1
            try:
                yield
            finally:
                self._changes_under_way -= 1
            if self._state_file and not self._changes_under_way:
                replace_file(self._state_file, self.saved.model_dump_json().encode())


def _load(path: Path) -> Saved:
    try:
        return Saved.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise StateFileError(f"cannot read DeviantArt's state from {path}: {error}") from error
