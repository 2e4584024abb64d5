"""Our programs as forks of one process that has done the imports: real processes, a second less each.

python -P forked.py [MODULE ...]    reads an order per line, answers with an outcome per line
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn

SECONDS = 60


class ForkedCommands:
    """The parent's side: `run` is like `run_fascicle`, only faster; `program` is whose `main` is run.

    `modules`: what is imported beforehand; by default all that any command needs.
    """

    def __init__(self, env: Mapping[str, str], *modules: str) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-P", __file__, *modules],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, cwd: Path, env: Mapping[str, str], program: str = "starter.main"
    ) -> dict[str, Any]:
        assert self._server.stdin
        assert self._server.stdout
        order = {"program": program, "arguments": arguments, "cwd": str(cwd), "env": dict(env)}
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        outcome: dict[str, Any] = json.loads(self._server.stdout.readline())
        return outcome

    def close(self) -> None:
        self._server.communicate()


# What a command imports, at once or on its way.
_IMPORTS = (
    "starter.main",
    "worker",
    "starter.stack.demo",
    "apprise",
    "asyncpg",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "rich.table",
    "typer.rich_utils",
    "alembic.script",
)


def serve(modules: Sequence[str]) -> None:
    if modules:
        _import(modules)
    else:
        _import([*_IMPORTS, *_commands()])
        # Apprise imports its hundred services when the first channel is looked at.
        importlib.import_module("apprise").Apprise.instantiate("json://localhost")
    # A collection in a fork would copy all that was imported, page by page, just to look at it.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        with TemporaryFile() as out, TemporaryFile() as err:
            code = _carry_out(json.loads(line), out, err)
            outcome = {"code": code, "out": _text(out), "err": _text(err)}
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()


def _import(names: Iterable[str]) -> None:
    for name in names:
        importlib.import_module(name)


def _commands() -> set[str]:
    from starter.main import COMMANDS

    return {command.place.partition(":")[0] for command in COMMANDS}


def _carry_out(order: dict[str, Any], out: IO[bytes], err: IO[bytes]) -> int:
    child = os.fork()
    if child == 0:
        _become_command(order, out, err)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _become_command(order: dict[str, Any], out: IO[bytes], err: IO[bytes]) -> NoReturn:
    signal.alarm(SECONDS)  # a command that hangs is ended, and its exit code says so
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = ["fascicle", *order["arguments"]]
    try:
        importlib.import_module(order["program"]).main()
    except SystemExit as left:  # argparse's way out
        sys.stderr.flush()
        os._exit(int(left.code or 0))
    os._exit(99)  # main leaves by itself


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    serve(sys.argv[1:])
