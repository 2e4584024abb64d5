"""The file of ship rules."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.ship_rule import ShipRules
from fascicle.imports.yaml_text import load_yaml

_LARGEST_FILE = 200_000
_PLAIN_WORDS = {"missing": "is missing", "extra_forbidden": "is no known entry; docs/fic-rules.md lists them"}


def load_ship_rules(path: Path) -> ShipRules:
    """The rules of a file; no rules if there is no file. A UsageError names the file and the place in it."""
    content = _read(path)
    if content is None:
        return ShipRules()
    try:
        return ShipRules.model_validate(content)
    except ValidationError as error:
        lines = "\n".join(f"  {_place(problem['loc'])} {_words(problem)}" for problem in error.errors())
        raise _broken(f"{path} has wrong ship rules:\n{lines}") from error


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise _broken(f"{path} is larger than {_LARGEST_FILE:,} bytes.")
        return load_yaml(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _broken(f"{path} cannot be read: {error.strerror}.") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise _broken(f"{path} is not YAML{line}: {error.problem or error.context}.") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError, OverflowError) as error:
        raise _broken(f"{path} is not YAML: {error}") from error


def _broken(message: str) -> UsageError:
    return UsageError("ship_rules_broken", message)


def _place(location: tuple[int | str, ...]) -> str:
    """A place such as `rules.1.multiship:`, counted from 1."""
    parts = [str(part + 1) if isinstance(part, int) else part for part in location]
    return ".".join(parts) + ":" if parts else "it"


def _words(problem: Any) -> str:
    if problem["type"] == "model_type":
        return "should be entries such as `rules: …`; it is not"
    return _PLAIN_WORDS.get(problem["type"], str(problem["msg"]).removeprefix("Value error, "))
