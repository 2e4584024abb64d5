"""A child process: reads requests, answers each with facts, with the page it needs, or with an error.

Each is a line of JSON. The parent starts it with `python -m fascicle.sites.fanficfare.child`.
"""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from fascicle.sandbox.lockdown import end_after, own_pipes, shut_network
from fascicle.sites.fanficfare.facts import facts_of, is_at_home
from fascicle.sites.fanficfare.lockdown import shut_files
from fascicle.sites.fanficfare.offline import (
    FormNeeded,
    LoginNeeded,
    PagesInHand,
    offline_adapter,
    silent_adapters,
)

# The parent ends a reading sooner; this limit is for a process whose parent is gone.
_GRACE_SECONDS = 5.0


def serve(read: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
    """Answer until the parent closes the pipe."""
    requests, answers = own_pipes()
    shut_network()
    silent_adapters()
    shut_files()
    _answer(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        end_after(request["seconds"] + _GRACE_SECONDS)
        _answer(answers, read(request))
        end_after(0)


def read_work(request: Mapping[str, Any]) -> dict[str, Any]:
    saved = request.get("saved")
    pages = PagesInHand(
        {url: base64.b64decode(body) for url, body in request["pages"].items()},
        base64.b64decode(saved) if saved is not None else None,
    )
    adapter = None
    try:
        adapter = offline_adapter(request["url"], pages)
        facts = facts_of(adapter.getStoryMetadataOnly(get_cover=False))
    except BaseException as error:
        if pages.needed is None:
            return _failure(error)
    if pages.needed is None:
        return {"facts": facts}
    if isinstance(pages.needed, LoginNeeded):
        return {"failed": "FailedToLogin", "status": None, "said": pages.needed.url}
    if isinstance(pages.needed, FormNeeded):
        return {"form": pages.needed.url}
    at_home = adapter is not None and is_at_home(pages.needed.url, adapter)
    return {"wanted": pages.needed.url, "at_home": at_home}


def _failure(error: BaseException) -> dict[str, Any]:
    """The error as JSON. `failed` is its class if it is one of FanFicFare's own exceptions, else None."""
    if not isinstance(error, Exception):
        raise error
    known = type(error).__module__ == "fanficfare.exceptions"
    return {
        "failed": type(error).__name__ if known else None,
        "status": getattr(error, "status_code", None) if known else None,
        "said": f"{type(error).__name__}: {error}"[:500],
    }


def _answer(answers: BinaryIO, content: Mapping[str, Any]) -> None:
    answers.write(json.dumps(content).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    serve(read_work)
