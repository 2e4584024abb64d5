"""Who a name is inside one function: an argument of the caller, a local variable, something of a module."""

import ast
from dataclasses import dataclass, field
from functools import cached_property

from tests.histories.outlines.project import Found, Function, Module, Project


@dataclass(frozen=True)
class Callee:
    function: Found
    owner: Found | None
    """The class whose `self` it has."""
    around: "Scope | None" = None
    """Of a function inside a function: where the names are that it has not itself."""

    @property
    def name(self) -> str:
        definition = self.function.definition
        assert isinstance(definition, Function)
        if self.owner is None:
            return definition.name
        assert isinstance(self.owner.definition, ast.ClassDef)
        return f"{self.owner.definition.name}.{definition.name}"


@dataclass(frozen=True)
class Scope:
    project: Project
    module: Module
    owner: Found | None = None
    function: Function | None = None
    arguments: "dict[str, tuple[ast.expr, Scope]]" = field(default_factory=dict)
    """Parameter → what the caller gave for it, and where that is to be understood."""
    around: "Scope | None" = None

    @cached_property
    def locals(self) -> frozenset[str]:
        if self.function is None:
            return frozenset()
        names = {argument.arg for argument in ast.walk(self.function) if isinstance(argument, ast.arg)}
        stored = {
            node.id
            for node in ast.walk(self.function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        handlers = {n.name for n in ast.walk(self.function) if isinstance(n, ast.ExceptHandler) and n.name}
        outside = self.around.locals if self.around is not None else frozenset()
        return frozenset(names | stored | handlers | outside) - {"self"}

    @cached_property
    def nested(self) -> dict[str, Function]:
        """Functions that are defined inside this one."""
        inside = ast.walk(self.function) if self.function is not None else ()
        return {
            node.name: node for node in inside if isinstance(node, Function) and node is not self.function
        }

    @cached_property
    def assigned(self) -> dict[str, ast.expr]:
        """What local names stand for, as far as they are assigned once."""
        found: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.function) if self.function else ():
            if isinstance(node, ast.Assign):
                for name, value in _pairs(node.targets[0], node.value):
                    found.setdefault(name, []).append(value)
        return {name: values[0] for name, values in found.items() if len(values) == 1}

    def meaning(self, expression: ast.expr) -> "tuple[ast.expr, Scope]":
        """What an expression stands for, and where: names are followed to their values."""
        if isinstance(expression, ast.Name):
            if expression.id in self.arguments:
                value, scope = self.arguments[expression.id]
                return scope.meaning(value)
            if expression.id in self.assigned:
                return self.meaning(self.assigned[expression.id])
            if self.around is not None and expression.id in self.around.locals:
                return self.around.meaning(expression)
            found = None if expression.id in self.locals else self.project.find(self.module, expression.id)
            if found is not None and isinstance(found.definition, ast.expr):
                return found.definition, Scope(self.project, found.module)
        if isinstance(expression, ast.Subscript):
            return self._element(expression)
        if isinstance(expression, ast.Attribute):
            return self._field(expression) or (expression, self)
        return expression, self

    def _field(self, expression: ast.Attribute) -> "tuple[ast.expr, Scope] | None":
        """A field of what a function makes: `ingest_job(…).workflow`."""
        made, scope = self.meaning(expression.value)
        callee = scope.callee(made.func) if isinstance(made, ast.Call) else None
        if callee is None or callee.owner is not None or not isinstance(made, ast.Call):
            return None
        for node in ast.walk(callee.function.definition):
            for keyword in getattr(getattr(node, "value", None), "keywords", []):
                if isinstance(node, ast.Return) and keyword.arg == expression.attr:
                    return scope.inside(callee, made).meaning(keyword.value)
        return None

    def _element(self, expression: ast.Subscript) -> "tuple[ast.expr, Scope]":
        value, scope = self.meaning(expression.value)
        key = ast.dump(self.meaning(expression.slice)[0])
        if isinstance(value, ast.Tuple) and isinstance(expression.slice, ast.Constant):
            return value.elts[int(str(expression.slice.value))], scope
        if isinstance(value, ast.Dict):
            for known, element in zip(value.keys, value.values, strict=True):
                if known is not None and ast.dump(known) == key:
                    return element, scope
        return ast.Subscript(value, expression.slice, expression.ctx), scope

    def class_of(self, expression: ast.expr) -> Found | None:
        """The class of an object, where it is plain from how it is made or annotated."""
        if isinstance(expression, ast.Name):
            if expression.id == "self":
                return self.owner
            own = self._annotated(expression.id) or self._made(self.assigned.get(expression.id))
            return self.around.class_of(expression) if own is None and self.around is not None else own
        if isinstance(expression, ast.Attribute) and (owner := self.class_of(expression.value)) is not None:
            return self._attribute_class(owner, expression.attr)
        return self._made(expression)

    def callee(self, function: ast.expr) -> Callee | None:
        if isinstance(function, ast.Name):
            if (nested := self._nested(function.id)) is not None:
                return nested
            found = None if function.id in self.locals else self.project.find(self.module, function.id)
            is_function = found is not None and isinstance(found.definition, Function)
            return Callee(found, None) if found is not None and is_function else None
        if isinstance(function, ast.Attribute) and (owner := self.class_of(function.value)) is not None:
            method = self.project.method(owner, function.attr)
            return Callee(method, owner) if method is not None else None
        return None

    def inside(self, callee: Callee, call: ast.Call | None = None) -> "Scope":
        """The scope of a function that is called here."""
        function = callee.function.definition
        assert isinstance(function, Function)
        is_method = callee.owner is not None and callee.around is None
        given = _given(function, call, is_method=is_method) if call else {}
        arguments = {name: (value, self) for name, value in given.items()}
        return Scope(self.project, callee.function.module, callee.owner, function, arguments, callee.around)

    def _nested(self, name: str) -> Callee | None:
        if name in self.nested:
            return Callee(Found(self.module, self.nested[name]), self.owner, self)
        return self.around._nested(name) if self.around is not None else None

    def _made(self, expression: ast.expr | None) -> Found | None:
        if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
            return self._class(expression.func.id)
        return None

    def _annotated(self, name: str) -> Found | None:
        for argument in ast.walk(self.function) if self.function else ():
            if isinstance(argument, ast.arg) and argument.arg == name and argument.annotation is not None:
                said = argument.annotation
                text = said.value if isinstance(said, ast.Constant) else getattr(said, "id", None)
                return self._class(str(text)) if text else None
        return None

    def _class(self, name: str) -> Found | None:
        found = self.project.find(self.module, name)
        return found if found is not None and isinstance(found.definition, ast.ClassDef) else None

    def _attribute_class(self, owner: Found, attribute: str) -> Found | None:
        """As `__init__` sets it."""
        setup = self.project.method(owner, "__init__")
        if setup is None or not isinstance(setup.definition, Function):
            return None
        there = Scope(self.project, setup.module, owner, setup.definition)
        for node in ast.walk(setup.definition):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Attribute) and target.attr == attribute:
                assert isinstance(node, ast.Assign)
                return there.class_of(node.value)
        return None


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if isinstance(target, ast.Tuple):
        return [
            (element.id, ast.Subscript(value, ast.Constant(place), ast.Load()))
            for place, element in enumerate(target.elts)
            if isinstance(element, ast.Name)
        ]
    return []


def _given(function: Function, call: ast.Call, *, is_method: bool) -> dict[str, ast.expr]:
    """Parameter → argument of that call; those with a star are left out."""
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]
    given = dict(zip(names[1:] if is_method else names, call.args, strict=False))
    return given | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
