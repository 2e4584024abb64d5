"""Prints a new key on stdout and nothing else, so that it can be piped into a file."""

import sys

from fascicle.storage.operations.keyring import new_key
from starter.output import print_json


def print_new_key(as_json: bool) -> None:
    key = new_key()
    if as_json:
        print_json({"key": key})
    else:
        sys.stdout.write(f"{key}\n")
