"""Is the worker of this machine healthy? For a container's health check, because the image has no curl.

    python -m fascicle.web.probe [/ready]

Exit code 0 if it answers 200, else 1 and a line that says why. Only the standard library: it runs every few
seconds.
"""

import os
import sys
from http.client import HTTPConnection, HTTPException

_SECONDS = 5.0


def ask(port: int, path: str) -> tuple[bool, str]:
    """Whether the ops server answers 200, and the text of its answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status == 200, answer.read().decode(errors="replace").strip()
    except (OSError, HTTPException) as error:
        return False, f"no answer from port {port}: {error}"
    finally:
        connection.close()


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "/health"
    is_well, said = ask(int(os.environ.get("FASCICLE_OPS_PORT") or 8000), path)
    sys.stdout.write(f"{said}\n")
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
