"""A process that parses documents: a line of JSON and a body in, a line of JSON and a model as JSON out.

Its parent starts `python -m fascicle.sandbox.child`.
"""

import json
import resource
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, BinaryIO

from pydantic_core import to_json

from fascicle.domain.errors import FascicleError
from fascicle.sandbox.limits import CPU_SECONDS, CRASHED, LARGEST_ANSWER, MEMORY
from fascicle.sandbox.lockdown import allow_cpu, die_first, end_after, limit, own_pipes, shut_network
from fascicle.sandbox.readings import Reading

# The parent ends a reading sooner; this limit is for a process whose parent is gone.
_GRACE_SECONDS = 5.0
_LONGEST_WORDS = 2000

Find = Callable[[str], Callable[..., Any]]


def serve(find: Find) -> None:
    """Answer until the parent closes the pipe, or until a document has left too little memory."""
    requests, answers = own_pipes()
    shut_network()
    limit(resource.RLIMIT_AS, MEMORY)
    limit(resource.RLIMIT_CORE, 0)
    die_first()
    _write(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        seconds = request.pop("seconds")
        end_after(seconds + _GRACE_SECONDS)
        allow_cpu(min(seconds, CPU_SECONDS))
        head, payload = answer(request, requests.read(request.pop("size")), find)
        _write(answers, head, payload)
        end_after(0)
        if "worn" in head:
            return


def answer(request: dict[str, Any], body: bytes, find: Find) -> tuple[dict[str, Any], bytes]:
    """The result of the wanted reading, or why it failed."""
    try:
        payload = to_json(find(request.pop("reading"))(body, **request), inf_nan_mode="null")
    except FascicleError as error:
        return _failed(error.code, error.message, retryable=error.retryable, status=error.http_status), b""
    except MemoryError:
        why = f"parsing takes more than {MEMORY >> 20} MB of memory"
        return {**_failed(CRASHED, why), "worn": True}, b""
    except Exception as error:
        return _failed(CRASHED, f"the parser fails with {error!r:.300}"), b""
    if len(payload) > LARGEST_ANSWER:
        return _failed(CRASHED, f"parsing makes {len(payload):,} bytes of it"), b""
    return {}, payload


def allowed_reading(name: str) -> Callable[..., Any]:
    module, _, function = Reading(name).partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def _failed(code: str, said: str, *, retryable: bool = False, status: int | None = None) -> dict[str, Any]:
    return {"failed": code, "said": said[:_LONGEST_WORDS], "retryable": retryable, "http_status": status}


def _write(answers: BinaryIO, head: Mapping[str, Any], payload: bytes = b"") -> None:
    answers.write(json.dumps({**head, "size": len(payload)}).encode() + b"\n")
    answers.write(payload)
    answers.flush()


if __name__ == "__main__":
    serve(allowed_reading)
