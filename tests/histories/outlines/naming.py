"""What calls, patches, activities and jumps are called in an outline."""

import ast
from collections.abc import Iterator

from tests.histories.outlines.project import Function
from tests.histories.outlines.scope import Callee, Scope
from tests.histories.outlines.tree import Kind, Node
from tests.histories.outlines.wording import ELSEWHERE

PATCHED_AND = " and "
_ASK_FOR_A_PATCH = (("workflow", "patched"), ("patches", "is_patched"))


def section_title(decorator: ast.expr, method: Function, scope: Scope) -> str | None:
    kind = called(decorator.func if isinstance(decorator, ast.Call) else decorator, scope)
    if kind == ("workflow", "run"):
        return "run"
    if kind not in (("workflow", "signal"), ("workflow", "update")):
        return None
    return f"{kind[1]} {given_name(decorator, scope) or method.name}"


def given_name(decorator: ast.expr, scope: Scope) -> str | None:
    """What something is called in histories, where that is not its name in the code."""
    named = [k.value for k in getattr(decorator, "keywords", []) if k.arg == "name"]
    return text_of(named[0], scope) if named else None


def called(function: ast.expr, scope: Scope) -> tuple[str, str] | None:
    """Module and name, as `workflow.sleep`; also where only the name was imported."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.value.id, function.attr
    if isinstance(function, ast.Name) and function.id in scope.module.imports:
        module, name = scope.module.imports[function.id]
        return module.rpartition(".")[2], name
    return None


def patch_of(test: ast.expr, scope: Scope) -> str | None:
    """The id of the patch without which this is false."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next(filter(None, (patch_of(value, scope) for value in test.values)), None)
    value, where = scope.meaning(test)
    return asked_patch(value, where) if isinstance(value, ast.Call) else None


def asked_patch(call: ast.Call, scope: Scope) -> str | None:
    """The id of the patch that a call asks for."""
    return text_of(call.args[0], scope) if called(call.func, scope) in _ASK_FOR_A_PATCH else None


def without_patch(test: ast.expr, scope: Scope) -> ast.expr:
    """What else a condition asks; True if nothing."""
    if patch_of(test, scope) is None:
        return test
    values = test.values if isinstance(test, ast.BoolOp) else []
    left = [value for value in values if patch_of(value, scope) is None]
    return ast.BoolOp(ast.And(), left) if len(left) > 1 else left[0] if left else ast.Constant(True)


def text_of(expression: ast.expr, scope: Scope) -> str:
    value, _ = scope.meaning(expression)
    return str(value.value) if isinstance(value, ast.Constant) else ELSEWHERE


def static_name(value: ast.expr, scope: Scope) -> str:
    match value:
        case ast.Constant():
            return str(value.value)
        case ast.Attribute(value=ast.Name(id=owner), attr="run"):
            return owner
        case ast.Attribute():
            return _registered(value, scope) or value.attr
        case ast.Name():
            return ELSEWHERE if value.id in scope.locals else _registered(value, scope) or value.id
        case ast.Subscript():  # which one, only the run knows: all of them
            held, where = scope.meaning(value.value)
            if isinstance(held, ast.Subscript):  # the element of a row of a table
                table, where = where.meaning(held.value)
                place = int(str(getattr(value.slice, "value", 0)))
                rows = table.values if isinstance(table, ast.Dict) else []
                names = [row.elts[place] if isinstance(row, ast.Tuple) else row for row in rows]
            else:
                names = held.values if isinstance(held, ast.Dict) else []
            return f"one of {', '.join(static_name(name, where) for name in names)}" if names else ELSEWHERE
    return ELSEWHERE


def _registered(value: ast.Attribute | ast.Name, scope: Scope) -> str | None:
    """`name=` of the activity that this refers to."""
    owner = value.value if isinstance(value, ast.Attribute) else value
    found = scope.project.find(scope.module, owner.id) if isinstance(owner, ast.Name) else None
    if found is not None and isinstance(value, ast.Attribute):
        is_class = isinstance(found.definition, ast.ClassDef)
        found = scope.project.method(found, value.attr) if is_class else None
    if found is None or not isinstance(found.definition, Function):
        return None
    there = Scope(scope.project, found.module)
    return next(filter(None, (given_name(each, there) for each in found.definition.decorator_list)), None)


def maker_of(value: ast.expr) -> str:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id
    if isinstance(value, ast.JoinedStr):
        return "".join(
            str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else ELSEWHERE
            for part in value.values
        )
    return repr(value.value) if isinstance(value, ast.Constant) else ELSEWHERE


def jumps(statement: ast.stmt) -> Iterator[Node]:
    match statement:
        case ast.Return():
            value = statement.value
            said = f" {value.value!r}" if isinstance(value, ast.Constant) else ""
            yield Node(Kind.JUMP, f"return{said}")
        case ast.Raise():
            raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
            known = isinstance(raised, ast.Name) and not raised.id.islower()
            yield Node(Kind.JUMP, f"raise {ast.unparse(raised)}" if known and raised else "raise")
        case ast.Break():
            yield Node(Kind.JUMP, "break")
        case ast.Continue():
            yield Node(Kind.JUMP, "continue")


def raises(callee: Callee) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(callee.function.definition))
