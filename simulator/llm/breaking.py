"""Documents that break their contract, each in one way."""

from typing import Any

from simulator.llm.records import ScriptKind
from simulator.llm.schema import Schema, longest_text, resolved, type_of

FAR_TOO_LONG = 100_000
WRONG: dict[str, Any] = {"string": 7, "array": "one, two", "object": [], "integer": "many", "number": "many"}


def broken(document: dict[str, Any], root: Schema, how: ScriptKind, field: str | None) -> dict[str, Any]:
    """The document, broken at `field`, else at the first suitable field; wrong types: at all fields."""
    fields = {
        name: resolved(schema, root) for name, schema in resolved(root, root).get("properties", {}).items()
    }
    if field is not None:
        fields = {field: fields[field]} if field in fields else {}
    match how:
        case "missing_field":
            lost = next(iter(fields), None)
            return {name: value for name, value in document.items() if name != lost}
        case "extra_field":
            return {**document, field or "confidence": "very sure"}
        case "too_long":
            return {**document, **_lengthened(fields, document)}
        case "empty_list":
            return {**document, **_emptied(fields)}
        case "wrong_types":
            return {**document, **{name: WRONG.get(type_of(schema)) for name, schema in fields.items()}}
        case _:
            return document


def _lengthened(fields: dict[str, Schema], document: dict[str, Any]) -> dict[str, Any]:
    texts = {name: schema for name, schema in fields.items() if type_of(schema) == "string"}
    limited = [name for name, schema in texts.items() if longest_text(schema)]
    name = next(iter(limited or texts), None)
    if name is None:
        return {}
    text = str(document[name]) or "x"
    longest = longest_text(texts[name]) or FAR_TOO_LONG
    return {name: (f"{text} " * (longest // len(text) + 2))[: longest + longest // 5 + 1].strip() + "x"}


def _emptied(fields: dict[str, Schema]) -> dict[str, Any]:
    lists = {name: schema for name, schema in fields.items() if type_of(schema) == "array"}
    needed = [name for name, schema in lists.items() if schema.get("minItems")]
    return {name: [] for name in list(needed or lists)[:1]}
