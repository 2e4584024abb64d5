"""The files of a deployment as their readers see them: compose, the builder, Prometheus, Grafana."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?:(?P<how>:[-?])(?P<word>[^}]*))?\}")


class Unset(Exception):
    """Compose refuses to go on."""


def text(path: str) -> str:
    return (ROOT / path).read_text()


def yaml_file(path: str) -> Any:
    return yaml.safe_load(text(path))


def interpolated(value: Any, variables: Mapping[str, str]) -> Any:
    """As compose fills in `${NAME}`, `${NAME:-default}` and `${NAME:?message}`; empty is unset."""
    if isinstance(value, dict):
        return {key: interpolated(part, variables) for key, part in value.items()}
    if isinstance(value, list):
        return [interpolated(part, variables) for part in value]
    return (
        _VARIABLE.sub(lambda found: _filled_in(found, variables), value) if isinstance(value, str) else value
    )


def _filled_in(found: re.Match[str], variables: Mapping[str, str]) -> str:
    given = variables.get(found["name"], "")
    if not given and found["how"] == ":?":
        raise Unset(f"{found['name']}: {found['word']}")
    return given or (found["word"] if found["how"] == ":-" else "")


def compose_variables() -> set[str]:
    """What docker-compose.yml asks .env for."""
    return {found["name"] for found in _VARIABLE.finditer(text("docker-compose.yml"))}


def example_variables() -> dict[str, str]:
    """The lines of .env.example, those commented out included."""
    return dict(re.findall(r"^#?([A-Z][A-Z0-9_]*)=(.*)$", text(".env.example"), re.MULTILINE))


def filled_env() -> dict[str, str]:
    """A .env as a careful person leaves it."""
    must = re.findall(r"^([A-Z][A-Z0-9_]*)=$", text(".env.example"), re.MULTILINE)
    return dict.fromkeys(must, "s3cret")


@cache
def compose() -> dict[str, Any]:
    read: dict[str, Any] = interpolated(yaml_file("docker-compose.yml"), filled_env())
    return read


def services() -> dict[str, Any]:
    return dict(compose()["services"])


def ours() -> dict[str, Any]:
    """The services that run our image."""
    return {name: service for name, service in services().items() if "build" in service}


def seconds(duration: str) -> float:
    parts = re.findall(r"(\d+(?:\.\d+)?)(h|ms|m|s)", duration)
    return sum(float(count) * {"h": 3600, "m": 60, "s": 1, "ms": 0.001}[unit] for count, unit in parts)


@dataclass(frozen=True)
class Instruction:
    name: str
    value: str


@cache
def dockerfile() -> tuple[Instruction, ...]:
    lines = [line for line in text("Dockerfile").splitlines() if line and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return tuple(Instruction(*re.sub(r"\s+", " ", line).split(" ", 1)) for line in joined)


def instructions(name: str) -> list[str]:
    return [found.value for found in dockerfile() if found.name == name]


def image_environment() -> dict[str, str]:
    """ENV of the last stage."""
    begins = max(place for place, found in enumerate(dockerfile()) if found.name == "FROM")
    lines = [found.value for found in dockerfile()[begins:] if found.name == "ENV"]
    return dict(pair.split("=", 1) for line in lines for pair in line.split())


def stays_out(path: str) -> bool:
    """Whether .dockerignore keeps a file from the builder: the last pattern that fits decides."""
    out = False
    for line in text(".dockerignore").splitlines():
        pattern, keeps = line.removeprefix("!"), line.startswith("!")
        if line and not line.startswith("#") and _fits(pattern, path):
            out = not keeps
    return out


def _fits(pattern: str, path: str) -> bool:
    parents = [path, *(str(parent) for parent in Path(path).parents if str(parent) != ".")]
    if pattern.startswith("**/"):
        return any(fnmatch(Path(parent).name, pattern[3:]) for parent in parents)
    # A star does not cross a slash.
    return any(fnmatch(p, pattern) and p.count("/") == pattern.count("/") for p in parents)
