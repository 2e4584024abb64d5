"""What the dashboard and the alerts ask of Prometheus: every expression, and the metrics and labels in it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser as promql
import yaml

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "fascicle.json"
RULES = ROOT / "deploy" / "prometheus" / "rules" / "fascicle.yml"
OBSERVABILITY = ROOT / "docs" / "observability.md"
# What Grafana puts in place of its variables.
_VARIABLES = {"$__rate_interval": "5m", "$__range": "1h", "$site": ".*", "$queue": ".*"}
_LABEL_VALUES = re.compile(r"label_values\((\w+), (\w+)\)")


@dataclass(frozen=True)
class Asked:
    """A metric as an expression asks for it. `name` may be a pattern, where it was asked for by one."""

    name: str
    labels: frozenset[str] = field(default_factory=frozenset)
    values: tuple[tuple[str, str, str], ...] = ()
    """Of its matchers: label, operator, value."""

    def __str__(self) -> str:
        return self.name


@cache
def dashboard() -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return shown


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


@cache
def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    """Every one of both, as Prometheus gets it."""
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [_filled_in(text) for text in [*shown, *(rule["expr"] for rule in alerts())]]


def _filled_in(text: str) -> str:
    for variable, value in _VARIABLES.items():
        text = text.replace(variable, value)
    assert "$" not in text, f"a variable that Grafana does not have: {text}"
    return text


def everything_asked() -> set[Asked]:
    choices = [choice["definition"] for choice in dashboard()["templating"]["list"] if "definition" in choice]
    found = {
        Asked(name, frozenset({label})) for text in choices for name, label in _LABEL_VALUES.findall(text)
    }
    assert len(found) == len(choices)
    for text in expressions():
        found |= set(asked(promql.parse(text), frozenset()))
    return found


def asked(node: Any, wanted: frozenset[str]) -> Iterator[Asked]:
    """The metrics beneath a part of an expression. `wanted`: the labels that what is around it goes by."""
    if isinstance(node, promql.VectorSelector):
        yield _selected(node, wanted)
    elif isinstance(node, promql.MatrixSelector):
        yield from asked(node.vector_selector, wanted)
    elif isinstance(node, promql.AggregateExpr):
        assert node.modifier is None or "By" in str(node.modifier.type), "the labels kept are to be named"
        kept = frozenset(node.modifier.labels if node.modifier else ())
        assert wanted <= kept, f"{sorted(wanted - kept)} is grouped away in {node.prettify()}"
        yield from asked(node.expr, kept)
    elif isinstance(node, promql.BinaryExpr):
        yield from asked(node.lhs, wanted)
        yield from asked(node.rhs, wanted)
    elif isinstance(node, promql.Call):
        for argument in node.args:
            yield from asked(argument, wanted)
    elif isinstance(node, promql.ParenExpr | promql.UnaryExpr | promql.SubqueryExpr):
        yield from asked(node.expr, wanted)
    else:
        assert isinstance(node, promql.NumberLiteral | promql.StringLiteral), type(node)


def _selected(node: Any, wanted: frozenset[str]) -> Asked:
    matchers = [(m.name, str(m.op), m.value) for m in node.matchers.matchers]
    name = node.name or next(value for label, _, value in matchers if label == "__name__")
    matchers = [matcher for matcher in matchers if matcher[0] != "__name__"]
    # A histogram's buckets have theirs; `job` and `instance` are Prometheus' own.
    labels = wanted | {label for label, _, _ in matchers}
    return Asked(name, labels - {"job", "instance"}, tuple(matchers))
