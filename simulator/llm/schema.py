"""A document that satisfies a JSON schema, made of the words of a text."""

import re
from collections.abc import Iterator
from typing import Any

from simulator.ids import slug
from simulator.llm.wording import Wording

Schema = dict[str, Any]

USUAL_ITEMS = 3
LONGEST_WORDS = 40
LONGEST_TEXT = 2000
DEEPEST = 4
MOST = 1_000_000
TRIES = 50
FORMATS = {
    "date": "2026-01-05",
    "date-time": "2026-01-05T12:00:00Z",
    "uri": "https://example.org/",
    "email": "someone@example.org",
    "uuid": "6d1f0c1e-5d0b-5a63-9d5e-0f6a4f0c2a10",
}


def resolved(schema: Schema, root: Schema) -> Schema:
    """The schema with its references followed, and with the first alternative that is not null."""
    while True:
        if "$ref" in schema:
            found: Any = root
            for step in schema["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
        elif alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            kept = [option for option in alternatives if option.get("type") != "null"]
            schema = kept[0] if kept else {"type": "null"}
        else:
            return schema


def type_of(schema: Schema) -> str:
    given = schema.get("type")
    if isinstance(given, list):
        return next((str(name) for name in given if name != "null"), "null")
    if given is None:
        return "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(given)


class Filling:
    def __init__(self, root: Schema, wording: Wording) -> None:
        self._root = root
        self._wording = wording

    def document(self) -> Any:
        return self._value(self._root, "", 0)

    def _value(self, schema: Schema, name: str, depth: int) -> Any:
        schema = resolved(schema, self._root)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._one_of(schema["enum"], name)
        match type_of(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "integer":
                return int(self._number(schema, 1))
            case "number":
                return self._number(schema, 0.01)
            case "boolean":
                return True
            case "null":
                return None
            case _:
                return self._string(schema, name)

    def _one_of(self, options: list[Any], name: str) -> Any:
        return self._wording.language if _is_language(name, self._wording.language, options) else options[0]

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        required = set(schema.get("required", ()))
        wanted = {
            name: inner
            for name, inner in schema.get("properties", {}).items()
            if name in required or depth < DEEPEST
        }
        return {name: self._value(inner, name, depth + 1) for name, inner in wanted.items()}

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        fewest, most = schema.get("minItems", 0), schema.get("maxItems", USUAL_ITEMS)
        usual = USUAL_ITEMS if depth < DEEPEST else 0
        count = max(fewest, min(usual, most))
        items: list[Any] = []
        for _ in range(count + TRIES):
            if len(items) == count:
                break
            item = self._value(schema.get("items", {}), name, depth + 1)
            if item not in items:
                items.append(item)
        # A text with few words gives few different items; the count matters more than the difference.
        return items + [items[-1]] * (count - len(items)) if items else items

    def _number(self, schema: Schema, step: float) -> float:
        least: float = schema.get("minimum", schema.get("exclusiveMinimum", -step) + step)
        most: float = schema.get("maximum", schema.get("exclusiveMaximum", MOST + step) - step)
        number: float = max(least, min(self._wording.reading_minutes, most))
        multiple: float = schema.get("multipleOf", 0)
        return -(-number // multiple) * multiple if multiple else number

    def _string(self, schema: Schema, name: str) -> str:
        shortest, longest = schema.get("minLength", 0), longest_text(schema)
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        if "pattern" in schema:
            return self._matching(schema["pattern"], name, shortest, longest)
        if _is_language(name, self._wording.language, [self._wording.language]):
            return self._wording.language
        if "tag" in name or (longest is not None and longest <= LONGEST_WORDS):
            return self._words(shortest, longest)
        wanted = shortest if longest is None else max(shortest, min(longest * 4 // 5, LONGEST_TEXT))
        return cut_to(self._wording.sentences(wanted), shortest, longest)

    def _words(self, shortest: int, longest: int | None) -> str:
        told = self._wording.word()
        while len(told) < shortest:
            told += f" {self._wording.word()}"
        return told if longest is None else told[:longest]

    def _matching(self, pattern: str, name: str, shortest: int, longest: int | None) -> str:
        fits = re.compile(pattern)
        for candidate in self._candidates(name, shortest, longest):
            is_long_enough = shortest <= len(candidate) <= (longest or len(candidate))
            if is_long_enough and fits.search(candidate):
                return candidate
        raise ValueError(f"nothing that the simulator can say fits the pattern {pattern}")

    def _candidates(self, name: str, shortest: int, longest: int | None) -> Iterator[str]:
        if "lang" in name:
            yield self._wording.language
        if shortest > LONGEST_WORDS or (longest or 0) > LONGEST_WORDS:
            yield cut_to(self._wording.sentences(max(shortest, (longest or 0) * 4 // 5)), shortest, longest)
        for _ in range(TRIES):
            word = self._words(shortest, longest)
            yield from (word, word.lower(), word.capitalize(), word.upper(), slug(word), f"#{slug(word)}")
            yield from (word[:length].lower() for length in range(1, len(word)))
        yield from FORMATS.values()
        yield from ("0", "1", "en", "en-US")
        yield self._wording.sentence()


def cut_to(text: str, shortest: int, longest: int | None) -> str:
    """The text cut to at most `longest` characters, after a whole word if possible."""
    if longest is None or len(text) <= longest:
        return text
    whole = text[:longest].rpartition(" ")[0]
    return whole if len(whole) >= max(shortest, 1) else text[:longest]


def _is_language(name: str, language: str, options: list[Any]) -> bool:
    return "lang" in name and language in options


def longest_text(schema: Schema) -> int | None:
    """The limit from `maxLength`, else from the description: some providers do not accept `maxLength`."""
    said = re.search(r"[Aa]t most ([0-9]+) characters", schema.get("description", ""))
    stated = schema.get("maxLength", int(said[1]) if said else None)
    return None if stated is None else int(stated)
