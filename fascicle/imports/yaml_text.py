"""YAML from files of other people. Too deep a nesting would crash the process in the C loader, so the depth
is counted first; the C parser needs no recursion for that.
"""

from typing import Any

import yaml

DEEPEST = 30
# The loader in C is ten times as fast; every command reads such files.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(content: str | bytes) -> Any:
    """The parsed text. Raises the loader's errors: YAMLError, UnicodeDecodeError, ValueError …"""
    depth = 0
    for event in yaml.parse(content, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                problem = f"it is nested more than {DEEPEST} levels deep; write it flatter"
                mark: Any = event.start_mark
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return yaml.load(content, Loader=_LOADER)  # noqa: S506 - a safe one
