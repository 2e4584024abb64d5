"""Every compiled pattern of the product, how it is used, and long inputs made of what it looks for."""

import ast
import importlib
import inspect
import pkgutil
import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("fascicle", "activities", "workflows", "starter")
METHODS = frozenset({"search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"})
# Of one pattern: so many characters, sequences and beginnings are repeated.
_MOST_CHARACTERS, _MOST_SEQUENCES = 12, 10


@dataclass
class Found:
    """A pattern, every name that leads to it, and the methods called on those names."""

    pattern: re.Pattern[Any]
    names: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)


def product_modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        root = importlib.import_module(package)
        yield root
        for module in pkgutil.walk_packages(root.__path__, f"{package}."):
            if ".migrations" not in module.name and not module.name.endswith("__main__"):
                yield importlib.import_module(module.name)
    yield importlib.import_module("worker")


def all_patterns() -> list[Found]:
    found: dict[int, Found] = {}
    modules = list(product_modules())
    for module in modules:
        for name, value in vars(module).items():
            if not name.startswith("__"):
                _collect(value, f"{module.__name__}.{name}", found, depth=0)
    for module in modules:
        for pattern, method in _uses(module):
            found[id(pattern)].methods.add(method)
    return list(found.values())


def _collect(value: Any, name: str, found: dict[int, Found], *, depth: int) -> None:
    """Patterns in globals, in collections of them, in classes and in objects of ours."""
    if isinstance(value, re.Pattern):
        found.setdefault(id(value), Found(value)).names.add(name)
    elif depth < 4:
        for key, part in _parts(value):
            _collect(part, f"{name}.{key}", found, depth=depth + 1)


def _parts(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return list(enumerate(value))
    is_ours = str(getattr(value, "__module__", type(value).__module__)).partition(".")[0] in (
        *PACKAGES,
        "worker",
    )
    has_parts = is_ours and not isinstance(value, ModuleType) and hasattr(value, "__dict__")
    return list(vars(value).items()) if has_parts else []


def _uses(module: ModuleType) -> Iterator[tuple[re.Pattern[Any], str]]:
    """`NAME.search(…)`, `module.NAME.sub(…)`, `NAMES[key].match(…)` as the source has them."""
    for call in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
            for pattern in _named(call.func.value, module):
                yield pattern, call.func.attr


def _named(node: ast.expr, module: ModuleType) -> list[re.Pattern[Any]]:
    if isinstance(node, ast.Name):
        value = getattr(module, node.id, None)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        value = getattr(getattr(module, node.value.id, None), node.attr, None)
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        value = list((getattr(module, node.value.id, None) or {}).values())
    else:
        value = None
    candidates = value if isinstance(value, list) else [value]
    return [candidate for candidate in candidates if isinstance(candidate, re.Pattern)]


def inline_uses() -> set[str]:
    """`path:function` of everything that compiles or applies a pattern while it runs."""
    found: set[str] = set()
    for module in product_modules():
        path = Path(inspect.getsourcefile(module) or "")
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                if any(_is_of_re(call) for call in calls):
                    found.add(f"{module.__name__}:{function.name}")
    return found


def _is_of_re(call: ast.expr) -> bool:
    is_of_module = (
        isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name) and call.value.id == "re"
    )
    return is_of_module and isinstance(call, ast.Attribute) and call.attr in METHODS | {"compile"}


def hostile_inputs(pattern: re.Pattern[Any], length: int) -> Iterator[Any]:
    """Repeats of each character and each beginning that the pattern has, behind a beginning or not, with an
    end that matches nothing or without."""
    is_bytes = isinstance(pattern.pattern, bytes)
    source = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
    tree = parser.parse(source, pattern.flags & ~re.UNICODE if is_bytes else pattern.flags)
    characters = dict.fromkeys([" ", "a", "\n", *_characters(tree)])
    examples = [_example(tree, branch)[:60] for branch in range(3)]
    beginnings = [example[:end] for example in examples for end in (2, 3, 5, 8, 13, 60)]
    units = [
        *islice(filter(None, characters), _MOST_CHARACTERS),
        *islice(dict.fromkeys(b for b in beginnings if len(b) > 1), _MOST_SEQUENCES),
    ]
    heads = dict.fromkeys(["", examples[0][: max(1, len(examples[0]) // 2)]])
    for unit in units:
        for head in heads:
            text = head + unit * (length // len(unit)) + "\x01"
            yield text.encode("utf-8", "replace") if is_bytes else text


def _characters(tree: Any) -> Iterator[str]:
    for operation, value in tree:
        inner = _inner(operation, value)
        if inner is None:
            yield _character(operation, value)
        else:
            for part in inner:
                yield from _characters(part)


def _example(tree: Any, branch: int) -> str:
    """A text that the pattern nearly matches."""
    text = ""
    for operation, value in tree:
        inner = _inner(operation, value)
        if operation is sre.ASSERT_NOT or (operation is sre.ASSERT and value[0] > 0):
            continue
        if inner is None:
            text += _character(operation, value)
        elif inner:
            times = max(1, min(value[0], 3)) if operation in _REPEATS else 1
            text += _example(inner[branch % len(inner)], branch) * times
    return text


_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


def _inner(operation: Any, value: Any) -> list[Any] | None:
    if operation is sre.BRANCH:
        return list(value[1])
    if operation is sre.SUBPATTERN:
        return [value[3]]
    if operation in _REPEATS:
        return [value[2]]
    if operation is sre.ATOMIC_GROUP:
        return [value]
    return [value[1]] if operation in (sre.ASSERT, sre.ASSERT_NOT) else None


_CATEGORIES = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_SPACE: "x",
    sre.CATEGORY_NOT_WORD: "-",
    sre.CATEGORY_NOT_DIGIT: "y",
}


def _character(operation: Any, value: Any) -> str:
    if operation is sre.LITERAL:
        return chr(value)
    if operation is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if operation is sre.IN:
        return _of_class(value)
    return "x" if operation is sre.ANY else ""


def _of_class(parts: Any) -> str:
    listed = [
        chr(value) if kind is sre.LITERAL else chr(value[0]) if kind is sre.RANGE else _CATEGORIES[value]
        for kind, value in parts
        if kind is not sre.NEGATE
    ]
    if any(kind is sre.NEGATE for kind, _ in parts):
        return next((c for c in "ab0-\"'<>. \n,;é" if c not in listed), "é")
    return listed[0]
