"""A parsing process that any HTML ends."""

import os
from typing import Any

import nh3

from fascicle.sandbox.child import allowed_reading, serve


def _abort(*_: Any, **__: Any) -> str:
    os.abort()


if __name__ == "__main__":
    nh3.clean = _abort
    serve(allowed_reading)
