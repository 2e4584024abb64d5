"""A command that the supervisor runs, and the wrapper that ends it with the supervisor."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fascicle.embedded.account import Account
from fascicle.embedded.environment import bare_environment

Probe = Callable[[], Awaitable[bool]]

_GUARD = Path(__file__).with_name("guard.py")


@dataclass(frozen=True, kw_only=True)
class Command:
    """Without a `ready` probe, the command is ready as soon as it runs.

    `env` is added to a bare environment; `inherits`: to this process's own, which holds secrets.
    `orphan_signal` is the signal that the child gets when the supervisor dies without stopping it (Linux).
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
