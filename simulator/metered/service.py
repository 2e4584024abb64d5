"""The state of a paid upstream: its options, its scripts, its ledger."""

from threading import Lock
from typing import Generic, TypeVar

from simulator.metered.ledger import CallLedger, CallT
from simulator.metered.records import Script, ServiceOptions, Tally

OptionsT = TypeVar("OptionsT", bound=ServiceOptions)
ScriptT = TypeVar("ScriptT", bound=Script)


class Service(Generic[OptionsT, ScriptT, CallT]):
    """Safe to use from several threads. The first suitable script, in the order of adding, decides a call."""

    def __init__(self, options: OptionsT) -> None:
        self.options = options
        self.ledger: CallLedger[CallT] = CallLedger()
        self._first_options = options
        self._lock = Lock()
        self._scripts: list[_Armed[ScriptT]] = []

    def configure(self, **changes: object) -> OptionsT:
        """Change some of the options."""
        kept = self.options.model_dump()
        self.options = type(self.options).model_validate({**kept, **changes})
        return self.options

    def script(self, *scripts: ScriptT) -> None:
        with self._lock:
            self._scripts += [_Armed(script) for script in scripts]

    def unscript(self) -> None:
        """Forget the scripts; the next calls are answered as usual."""
        with self._lock:
            self._scripts.clear()

    def next_script(self, subject: str) -> ScriptT | None:
        """The script that decides this call about the subject. It counts the call: call it once for each."""
        with self._lock:
            return next((armed.script for armed in self._scripts if armed.strikes(subject)), None)

    def calls(self) -> list[CallT]:
        """Every call that reached the service, oldest first."""
        return self.ledger.calls()

    def tally(self) -> Tally:
        return self.ledger.tally()

    def clear(self) -> None:
        self.unscript()
        self.options = self._first_options
        self.ledger.clear()


class _Armed(Generic[ScriptT]):
    def __init__(self, script: ScriptT) -> None:
        self.script = script
        self._seen = 0
        self._hits = 0

    def strikes(self, subject: str) -> bool:
        if not self.script.concerns(subject):
            return False
        self._seen += 1
        spent = self.script.count is not None and self._hits >= self.script.count
        if spent or self._seen <= self.script.skip:
            return False
        self._hits += 1
        return True
