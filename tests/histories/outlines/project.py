"""The project's source as syntax trees: who defines a name, and what stands there. Nothing is imported."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef | ast.expr
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Found:
    """A definition and the module it stands in."""

    module: "Module"
    definition: Definition


@dataclass(frozen=True)
class Module:
    name: str
    tree: ast.Module = field(repr=False)

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        found: dict[str, Definition] = {}
        for statement in self.tree.body:
            if isinstance(statement, Function | ast.ClassDef):
                found[statement.name] = statement
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                found[statement.targets[0].id] = statement.value
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found |= {statement.target.id: statement.value} if statement.value is not None else {}
        return found

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Name here → module and name there."""
        found: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        return found


class Project:
    def __init__(self, read: Callable[[str], str | None]) -> None:
        """`read` gives the source of a module by its dotted name; None where it is not ours."""
        self._read = read
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        if name not in self._modules:
            source = self._read(name)
            self._modules[name] = None if source is None else Module(name, ast.parse(source))
        return self._modules[name]

    def find(self, module: Module, name: str) -> Found | None:
        """Who `name` is in that module, followed through imports."""
        if name in module.definitions:
            return Found(module, module.definitions[name])
        if name not in module.imports:
            return None
        there, original = module.imports[name]
        origin = self.module(there)
        return self.find(origin, original) if origin is not None else None

    def method(self, owner: Found, name: str) -> Found | None:
        """A method of a class or of its bases."""
        assert isinstance(owner.definition, ast.ClassDef)
        for statement in owner.definition.body:
            if isinstance(statement, Function) and statement.name == name:
                return Found(owner.module, statement)
        for base in owner.definition.bases:
            found = self.find(owner.module, base.id) if isinstance(base, ast.Name) else None
            is_class = found is not None and isinstance(found.definition, ast.ClassDef)
            if found is not None and is_class and (inherited := self.method(found, name)) is not None:
                return inherited
        return None


def our_source(name: str) -> str | None:
    """Only what may decide something in a workflow: what does I/O runs in activities."""
    if name.split(".")[0] not in ("workflows", "activities", "fascicle"):
        return None
    path = ROOT.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file.read_text()
    return None


def our_workflow_modules() -> list[str]:
    files = sorted((ROOT / "workflows").rglob("[a-z]*.py"))
    return [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
