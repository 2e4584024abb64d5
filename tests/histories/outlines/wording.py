"""Conditions and names as an outline words them: the same whatever local variables are called."""

import ast
import copy
from collections.abc import Callable

from tests.histories.outlines.project import Function
from tests.histories.outlines.scope import Callee, Scope

ELSEWHERE = "…"
"""Stands for what an outline shows in another place, or not at all."""


class Wording(ast.NodeTransformer):
    """Words expressions of one function, and gathers which functions and constants they rely on."""

    def __init__(
        self, scope: Scope, produces_commands: Callable[[Callee], bool], *, makes_ids: bool = False
    ) -> None:
        """`makes_ids`: texts with gaps are of importance, elsewhere they are for people."""
        self._scope = scope
        self._produces_commands = produces_commands
        self._makes_ids = makes_ids
        self._names: dict[str, str] = {}
        self.decides: dict[str, tuple[str, ...]] = {}

    def of(self, expression: ast.AST) -> str:
        return " ".join(ast.unparse(self.visit(copy.deepcopy(expression))).split())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._scope.locals:
            return ast.Name(self._names.setdefault(node.id, f"${len(self._names) + 1}"))
        found = self._scope.project.find(self._scope.module, node.id)
        if found is None or isinstance(found.definition, ast.ClassDef | Function):
            return node
        if isinstance(found.definition, ast.Constant):
            return found.definition
        if node.id not in self.decides:
            self.decides[node.id] = ()
            self._learn(node.id, found.definition, Scope(self._scope.project, found.module))
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        inner: ast.AST = self.visit(node.value)
        return inner

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """A line of the log decides nothing."""
        return None if ast.unparse(node).startswith("workflow.logger.") else self.generic_visit(node)

    def visit_Await(self, node: ast.Await) -> ast.AST:
        return ast.Name(ELSEWHERE)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return self.generic_visit(node) if self._makes_ids else ast.Name(ELSEWHERE)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A method that is handed over, such as the predicate of a wait, or a property."""
        self.rely_on(self._scope.callee(node))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        callee = self._scope.callee(node.func)
        if callee is not None and self._produces_commands(callee):
            return ast.Name(ELSEWHERE)
        self.rely_on(callee)
        return self.generic_visit(node)

    def body(self, function: Function) -> tuple[str, ...]:
        """A whole function, without its docstring and annotations."""
        plain = copy.deepcopy(function.body)
        if ast.get_docstring(function) is not None:
            plain = plain[1:]
        kept = [said for statement in plain if (said := self.visit(statement)) is not None]
        worded = [ast.unparse(ast.fix_missing_locations(said)) for said in kept]
        return tuple(line for statement in worded for line in statement.splitlines())

    def rely_on(self, callee: Callee | None) -> None:
        if callee is None or callee.name in self.decides or self._produces_commands(callee):
            return
        self.decides[callee.name] = ()
        inner = Wording(self._scope.inside(callee), self._produces_commands, makes_ids=self._makes_ids)
        inner.decides = self.decides
        function = callee.function.definition
        assert isinstance(function, Function)
        self.decides[callee.name] = inner.body(function)

    def _learn(self, name: str, value: ast.expr, scope: Scope) -> None:
        inner = Wording(scope, self._produces_commands, makes_ids=self._makes_ids)
        inner.decides = self.decides
        self.decides[name] = (inner.of(value),)
