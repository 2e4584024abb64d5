"""What a command imports (O5): a list, or a completion, loads no more than it needs."""

import os
import subprocess
import sys

import pytest

from tests.starter.conftest import Running

# Nobody who only asks the database needs any of these.
HEAVY = (
    "alembic", "apprise", "cryptography", "fanficfare", "feedparser", "httpx", "jsonpath", "lxml", "nh3",
    "obstore", "opentelemetry", "py3langid", "selectolax", "sqlalchemy", "structlog", "temporalio",
    "trafilatura", "yaml",
)  # fmt: skip
LISTINGS = [
    ("source", "list"), ("feed", "list"), ("feed", "list", "--user", "ann"), ("inbox", "ann"),
    ("library", "list", "ann"), ("notifications", "ann"), ("post", "list"), ("fic", "list"),
    ("request", "list"), ("request", "spending"), ("dead-letters", "list"), ("dead-letters", "counts"),
    ("account", "list"), ("automation", "list"), ("user", "list"), ("run", "list"), ("sale", "list"),
]  # fmt: skip
COMPLETIONS = [
    "fascicle so", "fascicle source ", "fascicle feed ", "fascicle feed list --", "fascicle fic ",
    "fascicle post list --", "fascicle dead-letters replay --", "fascicle request ", "fascicle automation ",
    "fascicle account ", "fascicle site ", "fascicle schedule ", "fascicle user ", "fascicle library ",
]  # fmt: skip
_SCRIPT = """
import os, sys
from starter import main
def leave(code):
    sys.stderr.write(" ".join(sorted({name.partition(".")[0] for name in sys.modules})))
    sys.stderr.flush()
    os._exit(code)
main.leave = leave
main.main()
"""


def _loaded(*arguments: str, cwd: str, env: dict[str, str]) -> tuple[int, set[str]]:
    """The exit code, and the packages in memory at the end. Not a fork: that would have them all."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *arguments], capture_output=True, text=True, cwd=cwd, env=env
    )
    return done.returncode, set(done.stderr.split())


@pytest.mark.parametrize("command", LISTINGS, ids=" ".join)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_o5_a_listing_loads_nothing_heavy(
    running: Running, command: tuple[str, ...], form: tuple[str, ...]
) -> None:
    # Traces and keys, which the shared stack has, are paid for by those who want them.
    env = {
        name: value
        for name, value in running.desk.env.items()
        if not name.startswith(("OTEL_", "FASCICLE_PAYLOAD_", "FASCICLE_TOKEN_"))
    }
    code, loaded = _loaded(*command, *form, cwd=str(running.desk.folder), env=env)
    assert code == 0
    assert "asyncpg" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize("words", COMPLETIONS)
def test_o5_a_completion_loads_nothing_heavy(words: str, tmp_path: object) -> None:
    asked = {
        "_FASCICLE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    script = (
        "import sys; sys.argv = ['fascicle']; from starter import main\n"
        "try: main.app(prog_name='fascicle', standalone_mode=False)\n"
        "except SystemExit: pass\n"
        "sys.stderr.write(' '.join({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=str(tmp_path),
        env={**os.environ, **asked},
    )
    assert done.stdout.split()
    assert not set(done.stderr.split()) & set(HEAVY)


def test_o6_the_conductor_of_the_stack_keeps_nothing_heavy_in_memory() -> None:
    script = (
        "import sys, starter.main, starter.up, starter.events, starter.demo_environment\n"
        "import fascicle.storage.plain_engine\n"
        "sys.stdout.write(' '.join({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & set(HEAVY)
