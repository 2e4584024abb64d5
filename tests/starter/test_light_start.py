"""What a command imports (O5): a list, or a completion, loads no more than it needs."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.starter.commandline import clean_environment
from tests.starter.conftest import Running
from tests.starter.forked import ForkedCommands

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
_PROGRAM = "tests.starter.loaded_packages"


@pytest.fixture(scope="module")
def light_commands() -> Iterator[ForkedCommands]:
    """Forks of a process that has imported what every command begins with, and nothing else."""
    forked = ForkedCommands(clean_environment(), _PROGRAM)
    yield forked
    forked.close()


@pytest.fixture(scope="module")
def listings() -> Iterator[ForkedCommands]:
    """The same with the settings, which every listing reads."""
    forked = ForkedCommands(clean_environment(), _PROGRAM, "fascicle.settings.settings")
    yield forked
    forked.close()


@pytest.mark.parametrize("command", LISTINGS, ids=" ".join)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_o5_a_listing_loads_nothing_heavy(
    running: Running, listings: ForkedCommands, command: tuple[str, ...], form: tuple[str, ...]
) -> None:
    # Traces and keys, which the shared stack has, are paid for by those who want them.
    env = {
        name: value
        for name, value in running.desk.env.items()
        if not name.startswith(("OTEL_", "FASCICLE_PAYLOAD_", "FASCICLE_TOKEN_"))
    }
    done = listings.run(*command, *form, cwd=running.desk.folder, env=env, program=_PROGRAM)
    loaded = set(done["err"].split())
    assert done["code"] == 0
    assert "asyncpg" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize("words", COMPLETIONS)
def test_o5_a_completion_loads_nothing_heavy(
    light_commands: ForkedCommands, words: str, tmp_path: Path
) -> None:
    asked = {
        "_FASCICLE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = light_commands.run(cwd=tmp_path, env=clean_environment(**asked), program=_PROGRAM)
    assert done["out"].split()
    loaded = set(done["err"].split())
    assert "starter" in loaded
    assert not loaded & set(HEAVY)


def test_o6_the_conductor_of_the_stack_keeps_nothing_heavy_in_memory() -> None:
    script = (
        "import sys, starter.main, starter.stack.up, starter.stack.events, starter.stack.demo_environment\n"
        "import fascicle.storage.plain_engine\n"
        "sys.stdout.write(' '.join({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & set(HEAVY)
