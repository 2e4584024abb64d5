"""Commands are imported when they are called; the help knows them without."""

import inspect
import subprocess
import sys

import pytest

from starter.lazy import LazyCommand
from starter.main import COMMANDS

HEAVY = ("temporalio", "sqlalchemy", "apprise", "fanficfare", "httpx", "pydantic")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_o5_the_help_says_of_a_command_what_the_command_says_of_itself(command: LazyCommand) -> None:
    own = inspect.cleandoc(command.load().help).partition("\n\n")[0]
    assert command.help == " ".join(own.split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_o5_what_needs_no_command_imports_none(option: str) -> None:
    script = (
        "import os, sys; from starter import main\n"
        f"main.leave = lambda code: sys.exit(bool({{*{HEAVY}}} & sys.modules.keys()))\n"
        f"sys.argv = ['fascicle', '{option}']; main.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
