"""A child that, beside reading works, tries what no child may do; `probe:{what}:{port}` is its address."""

import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import requests

from fascicle.sites.fanficfare.child import read_work, serve

PROBES: dict[str, Callable[[str], object]] = {
    "create_connection": lambda url: socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))),
    "udp": lambda url: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "getaddrinfo": lambda url: socket.getaddrinfo("localhost", 80),
    "urlopen": urllib.request.urlopen,
    "requests": requests.get,
    "subprocess": lambda url: subprocess.run(["true"], check=False),
    "system": lambda url: os.system("true"),
    "fork": lambda url: os.fork() or os._exit(0),
    "exec": lambda url: os.execv("/bin/true", ["true"]),
    "kill": lambda url: os.kill(os.getppid(), 0),
    "write": lambda url: Path(f"/tmp/fascicle-probe-{os.getpid()}").write_text("x"),
    "mkdir": lambda url: Path(f"/tmp/fascicle-probe-{os.getpid()}").mkdir(),
    "hang": lambda url: signal.pause(),
}


def read(request: Mapping[str, Any]) -> dict[str, Any]:
    kind, _, rest = str(request["url"]).partition(":")
    if kind != "probe":
        return read_work(request)
    name, _, port = rest.partition(":")
    try:
        PROBES[name](f"http://127.0.0.1:{port}")
    except Exception as error:
        return {"failed": None, "status": None, "said": f"{type(error).__name__}: {error}"}
    return {"failed": None, "status": None, "said": "it worked"}


if __name__ == "__main__":
    serve(read)
