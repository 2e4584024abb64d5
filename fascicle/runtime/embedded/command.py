"""A command that the supervisor runs, and how it is wrapped so that it never outlives the supervisor."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fascicle.runtime.embedded.account import Account
from fascicle.runtime.embedded.environment import bare_environment

Probe = Callable[[], Awaitable[bool]]

_GUARD = Path(__file__).with_name("guard.py")


@dataclass(frozen=True, kw_only=True)
class Command:
    """Without a `ready` probe, running is being ready.

    `env` is added to a bare environment; `inherits`: to this process's own, which holds secrets.
    `orphan_signal` is what the child gets when the supervisor dies without stopping it (Linux).
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    inherits: bool = False
    cwd: Path | None = None
    ready: Probe | None = None
    ready_within: float = 30.0
    stop_signal: signal.Signals = signal.SIGTERM
    orphan_signal: signal.Signals = signal.SIGTERM
    account: Account | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {**(os.environ if self.inherits else bare_environment()), **self.env}


def guarded(argv: Sequence[str], orphan_signal: signal.Signals, account: Account | None) -> list[str]:
    """The command line that runs `argv` under the guard, as `account` if one is given."""
    drop = f"{account.uid}:{account.gid}" if account else "-"
    guard = [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), str(int(orphan_signal)), drop]
    return [*guard, *argv]
