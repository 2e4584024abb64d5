"""Free TCP ports on the loopback address, the same ones at every start if possible."""

import json
import secrets
import socket
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"

# Below the ports that systems give to outgoing connections: one of those could take a port between the moment
# it is chosen and the moment its server listens there.
_SERVER_PORTS = range(20_000, 32_768)
_TRIES = 200


def choose_port(preferred: int, taken: set[int]) -> int:
    """`preferred` if it is free and not in `taken`, else any free port outside `taken`."""
    if preferred not in taken and _is_free(preferred):
        return preferred
    while (port := _any_free_port()) in taken:
        pass
    return port


class PortBook:
    """Chooses ports by name and remembers them in the data folder, so that the next start gets the same."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ports.json"
        self._chosen: set[int] = set()

    def choose(self, name: str, preferred: int = 0) -> int:
        """The port that `name` had last time if it is free, else `preferred`, else any; 0 prefers none."""
        remembered = self._remembered()
        # The preference is part of the key, so that a changed setting wins over the remembered port.
        key = f"{name}:{preferred}"
        last = remembered.get(key, preferred)
        port = last if choose_port(last, self._chosen) == last else choose_port(preferred, self._chosen)
        self._chosen.add(port)
        self._path.write_text(json.dumps(remembered | {key: port}, indent=1))
        return port

    def _remembered(self) -> dict[str, int]:
        # An unreadable file only costs the remembered ports, so it must not stop the start.
        with suppress(OSError, ValueError):
            entries = json.loads(self._path.read_text())
            return {key: port for key, port in entries.items() if isinstance(port, int)}
        return {}


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Like the servers themselves: a connection in TIME_WAIT does not block a port, a listener does.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return port != 0


def _any_free_port() -> int:
    for _ in range(_TRIES):
        port = secrets.choice(_SERVER_PORTS)
        if _is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        any_port: int = probe.getsockname()[1]
        return any_port
