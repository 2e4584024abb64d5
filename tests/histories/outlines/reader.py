"""Reads a workflow class: every call that produces a command, with the control flow around it.

Helpers of `workflows/` are read where they are called, with what they were given: it makes no difference
whether a step stands in the workflow itself or in a helper.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.histories.outlines.naming import (
    PATCHED_AND,
    asked_patch,
    called,
    jumps,
    maker_of,
    patch_of,
    raises,
    section_title,
    static_name,
    text_of,
    without_patch,
)
from tests.histories.outlines.project import Found, Function, Project
from tests.histories.outlines.scope import Callee, Scope
from tests.histories.outlines.tree import Kind, Node, command, has_commands
from tests.histories.outlines.wording import Wording

_NAMED = {
    **dict.fromkeys(
        (f"{verb}_activity{kind}" for verb in ("execute", "start") for kind in ("", "_method", "_class")),
        "activity",
    ),
    **dict.fromkeys(
        (
            f"{verb}_local_activity{kind}"
            for verb in ("execute", "start")
            for kind in ("", "_method", "_class")
        ),
        "local activity",
    ),
    "execute_child_workflow": "child",
    "start_child_workflow": "child",
    "upsert_search_attributes": "search attributes",
    "upsert_memo": "memo",
    "continue_as_new": "continue as new",
}
_TIMERS = {("workflow", "sleep"), ("asyncio", "sleep"), ("asyncio", "wait_for")}
_AT_ONCE = {("asyncio", "gather"), ("asyncio", "create_task"), ("asyncio", "wait"), ("workflow", "wait")}
_HANDLES = ("signal", "cancel")


class Reader:
    def __init__(self, project: Project) -> None:
        self._project = project
        self._produces: dict[int, bool] = {}
        self._under_way: list[int] = []

    def sections(self, workflow: Found) -> Iterator[tuple[str, tuple[Node, ...]]]:
        """`run`, and each signal and update by its name."""
        assert isinstance(workflow.definition, ast.ClassDef)
        for method in workflow.definition.body:
            if not isinstance(method, Function):
                continue
            scope = Scope(self._project, workflow.module, workflow, method)
            for decorator in method.decorator_list:
                if (title := section_title(decorator, method, scope)) is not None:
                    yield title, self._statements(method.body, scope)

    def produces_commands(self, callee: Callee) -> bool:
        if not callee.function.module.name.startswith("workflows"):
            return False
        key = id(callee.function.definition)
        if key not in self._produces:
            self._produces[key] = False  # one that calls itself does if anything else in it does
            self._produces[key] = has_commands(
                self._body(callee, Scope(self._project, callee.function.module))
            )
        return self._produces[key]

    def _body(self, callee: Callee, caller: Scope, call: ast.Call | None = None) -> tuple[Node, ...]:
        function = callee.function.definition
        assert isinstance(function, Function)
        if id(function) in self._under_way:
            return (command("all of this again"),)
        self._under_way.append(id(function))
        try:
            return self._statements(function.body, caller.inside(callee, call))
        finally:
            self._under_way.pop()

    def _statements(self, statements: Sequence[ast.stmt], scope: Scope) -> tuple[Node, ...]:
        return tuple(node for statement in statements for node in self._statement(statement, scope))

    def _statement(self, statement: ast.stmt, scope: Scope) -> Iterator[Node]:
        match statement:
            case ast.If():
                yield from self._if(statement.test, statement.body, statement.orelse, scope)
            case ast.While():
                asked = tuple(self._expression(statement.test, scope))
                body = (*asked, *self._statements(statement.body, scope))
                yield self._worded(Kind.BLOCK, "while {}", statement.test, scope, body)
                yield from self._statements(statement.orelse, scope)
            case ast.For() | ast.AsyncFor():
                yield from self._expression(statement.iter, scope)
                body = self._statements(statement.body, scope)
                yield self._worded(Kind.BLOCK, "for each of {}", statement.iter, scope, body)
                yield from self._statements(statement.orelse, scope)
            case ast.Try():
                yield self._try(statement, scope)
            case ast.With() | ast.AsyncWith():
                yield from self._with(statement, scope)
            case ast.Match():
                yield from self._expression(statement.subject, scope)
                yield self._match(statement, scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return
            case _:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.expr):
                        yield from self._expression(child, scope)
                yield from jumps(statement)

    def _if(
        self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], scope: Scope
    ) -> Iterator[Node]:
        yield from self._choice(test, self._statements(body, scope), self._statements(orelse, scope), scope)

    def _choice(
        self, test: ast.expr, then: tuple[Node, ...], otherwise: tuple[Node, ...], scope: Scope
    ) -> Iterator[Node]:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and patch_of(test.operand, scope):
            test, then, otherwise = test.operand, otherwise, then
        patch, test = patch_of(test, scope), without_patch(test, scope)
        yield from self._expression(test, scope)
        form = "if {}" if patch is None else f"if patched {patch}{PATCHED_AND}{{}}"
        taken = self._worded(Kind.BLOCK, form, test, scope, then, patch=patch)
        yield Node(Kind.GROUP, children=(taken, Node(Kind.BLOCK, "else", otherwise)))

    def _try(self, statement: ast.Try, scope: Scope) -> Node:
        branches = [Node(Kind.BLOCK, "try", self._statements(statement.body, scope))]
        for handler in statement.handlers:
            caught = f"except {ast.unparse(handler.type)}" if handler.type else "except"
            branches.append(Node(Kind.BLOCK, caught, self._statements(handler.body, scope)))
        for name, body in (("else", statement.orelse), ("finally", statement.finalbody)):
            if body:
                branches.append(Node(Kind.BLOCK, name, self._statements(body, scope)))
        return Node(Kind.GROUP, children=tuple(branches))

    def _with(self, statement: ast.With | ast.AsyncWith, scope: Scope) -> Iterator[Node]:
        body = self._statements(statement.body, scope)
        for item in reversed(statement.items):
            manager = item.context_expr
            kind = called(manager.func, scope) if isinstance(manager, ast.Call) else None
            if kind == ("contextlib", "suppress"):
                assert isinstance(manager, ast.Call)
                caught = ", ".join(ast.unparse(kind) for kind in manager.args)
                body = (Node(Kind.BLOCK, f"suppress {caught}", body),)
            elif kind == ("asyncio", "timeout"):
                body = (Node(Kind.BLOCK, "within a time", (command("timer"), *body)),)
            else:
                body = (*self._expression(manager, scope), *body)
        yield from body

    def _match(self, statement: ast.Match, scope: Scope) -> Node:
        subject = self._worded(Kind.BLOCK, "match {}", statement.subject, scope)
        cases = [
            Node(Kind.BLOCK, f"case {ast.unparse(case.pattern)}", self._statements(case.body, scope))
            for case in statement.cases
        ]
        return Node(Kind.GROUP, children=(subject, *cases))

    def _expression(self, expression: ast.expr, scope: Scope) -> Iterator[Node]:
        """What an expression produces, in the order in which it is evaluated."""
        match expression:
            case ast.Call():
                yield from self._call(expression, scope)
            case ast.IfExp():
                then = tuple(self._expression(expression.body, scope))
                otherwise = tuple(self._expression(expression.orelse, scope))
                yield from self._choice(expression.test, then, otherwise, scope)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                yield from self._loops(expression.generators, [expression.elt], scope)
            case ast.DictComp():
                yield from self._loops(expression.generators, [expression.key, expression.value], scope)
            case ast.BoolOp():
                yield from self._operands(expression, scope)
            case ast.Lambda():
                return
            case _:
                for child in ast.iter_child_nodes(expression):
                    if isinstance(child, ast.expr):
                        yield from self._expression(child, scope)

    def _loops(
        self, generators: Sequence[ast.comprehension], made: Sequence[ast.expr], scope: Scope
    ) -> tuple[Node, ...]:
        """A comprehension as the loops that it is."""
        body = tuple(node for each in made for node in self._expression(each, scope))
        for generator in reversed(generators):
            for test in reversed(generator.ifs):
                body = tuple(self._choice(test, body, (), scope))
            loop = self._worded(Kind.BLOCK, "for each of {}", generator.iter, scope, body)
            body = (*self._expression(generator.iter, scope), loop)
        return body

    def _operands(self, expression: ast.BoolOp, scope: Scope) -> Iterator[Node]:
        """What stands behind an `and` or an `or` happens only if what is before it says so."""
        first, *others = expression.values
        yield from self._expression(first, scope)
        for place, value in enumerate(others, 1):
            if not has_commands(produced := tuple(self._expression(value, scope))):
                continue
            before = expression.values[:place]
            asked = ast.BoolOp(expression.op, before) if place > 1 else first
            form = "if {}" if isinstance(expression.op, ast.And) else "unless {}"
            yield self._worded(Kind.BLOCK, form, asked, scope, produced)

    def _call(self, call: ast.Call, scope: Scope) -> Iterator[Node]:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        inner = [node for argument in given for node in self._expression(argument, scope)]
        if isinstance(call.func, ast.Attribute):
            inner = [*self._expression(call.func.value, scope), *inner]
        if called(call.func, scope) in _AT_ONCE:
            yield Node(Kind.BLOCK, "at once", tuple(inner))
            return
        yield from inner
        if (patch := asked_patch(call, scope)) is not None:
            yield command(f"patched {patch}", patch)
            return
        callee = scope.callee(call.func)
        if callee is None:
            yield from self._command(call, scope)
        elif self.produces_commands(callee):
            yield Node(Kind.CALL, children=self._body(callee, scope, call))
        elif raises(callee):
            yield self._worded(Kind.JUMP, "check {}", call.func, scope)

    def _command(self, call: ast.Call, scope: Scope) -> Iterator[Node]:
        name = called(call.func, scope)
        if name in _TIMERS:
            yield command("timer")
        elif name == ("workflow", "wait_condition"):
            yield self._wait(call, scope)
        elif name == ("workflow", "deprecate_patch"):
            yield command(f"deprecated patch {text_of(call.args[0], scope)}")
        elif name is not None and name[0] == "workflow" and name[1] in _NAMED:
            yield from self._named(_NAMED[name[1]], call, scope)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _HANDLES:
            what = f" {text_of(call.args[0], scope)}" if call.args else ""
            yield command(f"{call.func.attr} another workflow{what}")

    def _named(self, kind: str, call: ast.Call, scope: Scope) -> Iterator[Node]:
        if kind not in ("activity", "local activity", "child") or not call.args:
            yield command(kind)
            return
        more, wording = "", Wording(scope, self.produces_commands, makes_ids=True)
        if kind == "child":
            identity = next((k.value for k in call.keywords if k.arg == "id"), None)
            if identity is not None:
                # Which one is a matter of data; how ids are made is not.
                value, where = scope.meaning(identity)
                more = f", id {maker_of(value)}"
                wording.rely_on(where.callee(value.func) if isinstance(value, ast.Call) else None)
            is_awaited = called(call.func, scope) == ("workflow", "execute_child_workflow")
            more += ", awaited" if is_awaited else ""
        for node in self._for_each_name(kind, call.args[0], more, scope):
            yield replace(node, decides=node.decides | wording.decides)

    def _for_each_name(self, kind: str, name: ast.expr, more: str, scope: Scope) -> Iterator[Node]:
        value, where = scope.meaning(name)
        if isinstance(value, ast.IfExp):
            then = tuple(self._for_each_name(kind, value.body, more, where))
            otherwise = tuple(self._for_each_name(kind, value.orelse, more, where))
            yield from self._choice(value.test, then, otherwise, where)
            return
        yield command(f"{kind} {static_name(value, where)}{more}")

    def _wait(self, call: ast.Call, scope: Scope) -> Node:
        predicate = call.args[0]
        awaited = predicate.body if isinstance(predicate, ast.Lambda) else predicate
        limits = [k.value for k in call.keywords if k.arg == "timeout"]
        timed = any(not (isinstance(limit, ast.Constant) and limit.value is None) for limit in limits)
        return self._worded(Kind.COMMAND, f"wait until {{}}{', or a timer' if timed else ''}", awaited, scope)

    def _worded(
        self,
        kind: Kind,
        form: str,
        expression: ast.expr,
        scope: Scope,
        children: tuple[Node, ...] = (),
        patch: str | None = None,
    ) -> Node:
        wording = Wording(scope, self.produces_commands)
        text = form.format(wording.of(expression)).removesuffix(f"{PATCHED_AND}True")
        return Node(kind, text, children, patch, wording.decides)
