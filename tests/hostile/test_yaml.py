"""Files of adapters and of ship rules that would end the process that reads them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fascicle.domain.errors import UsageError
from fascicle.imports.yaml_text import DEEPEST, load_yaml
from fascicle.services.fics.ship_rules import load_ship_rules
from fascicle.sites.declarative.files import read_description

LEVELS = 49_000  # 98 kB where each level has an end
DEEP = {
    "sequences": "[" * LEVELS + "]" * LEVELS,
    "unfinished": "[" * 2 * LEVELS,
    "mappings": "{a: " * (LEVELS // 3) + "}" * (LEVELS // 3),
    "dashes": "- " * LEVELS,
    "indented": "\n".join(" " * n + "a:" for n in range(440)),
    "keys": "? " * LEVELS,
}
READERS: list[Callable[[Path], Any]] = [load_ship_rules, read_description]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("shape", DEEP)
def test_a_deep_file_is_refused_by_name(tmp_path: Path, shape: str, read: Callable[[Path], Any]) -> None:
    file = tmp_path / "deep.yaml"
    file.write_text(DEEP[shape])
    with pytest.raises(UsageError) as refused:
        read(file)
    assert str(file) in refused.value.message
    assert "write it flatter" in refused.value.message


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "value", ["9" * 5000, "1" + ":1" * 2000 + ".5", "2026-99-99", "0001-01-01 00:00:00 +99:00"]
)
def test_an_impossible_value_is_refused_by_name(
    tmp_path: Path, value: str, read: Callable[[Path], Any]
) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(f"a: {value}")
    with pytest.raises(UsageError, match=r"odd\.yaml"):
        read(file)


def test_what_is_nested_as_deep_as_allowed_is_read() -> None:
    found = load_yaml("[" * DEEPEST + "]" * DEEPEST)
    for _ in range(DEEPEST - 1):
        [found] = found
    assert found == []


def test_a_command_outlives_deep_files(tmp_path: Path) -> None:
    """The loader's death is no exception: only a process of its own shows it."""
    (tmp_path / "sites.d").mkdir()
    (tmp_path / "sites.d" / "deep.yaml").write_text(DEEP["sequences"])
    (tmp_path / "ship_rules.yaml").write_text(DEEP["dashes"])
    surroundings = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "starter.main", "site", "list"]
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 2), done.stderr
    assert "deep.yaml" in done.stdout + done.stderr
