"""The contract of a summary (R4): its fields, their lengths, and the problems of one that breaks it."""

import json
import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fascicle.domain.feeds.item_words import shortened

# A model that is asked for 250 characters writes 260: such an excess is cut off at a word, more is an error.
_LENIENCY = 1.1
_MOST_PROBLEMS = 12
_LONGEST_ANSWER = 60_000
_ADDRESS = re.compile(r"https?://|\bwww\.[a-z0-9-]+\.", re.IGNORECASE)


class Method(StrEnum):
    """How it was written. `extractive`: by no model; its sentences are the article's own."""

    MODEL = "model"
    EXTRACTIVE = "extractive"


class EntityKind(StrEnum):
    PERSON = "person"
    ORGANIZATION = "organization"
    PLACE = "place"
    WORK = "work"
    OTHER = "other"


def _even(value: Any) -> Any:
    """Several blanks become one; characters that disturb a terminal or a database are removed."""
    if not isinstance(value, str):
        return value
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())


def _without_addresses(value: str) -> str:
    # A text may try to get a link into its own summary.
    if _ADDRESS.search(value):
        raise ValueError("must not contain web addresses")
    return value


def _fits(longest: int) -> AfterValidator:
    def cut(value: str) -> str:
        if not value:
            raise ValueError("must not be empty")
        if len(value) <= longest:
            return value
        if len(value) > longest * _LENIENCY:
            raise ValueError(f"has {len(value)} characters, at most {longest} are allowed")
        return shortened(value, longest)

    return AfterValidator(cut)


def _at_most(longest: int) -> Any:
    """For the schema: providers accept no lengths, but models read descriptions."""
    return Field(description=f"At most {longest} characters.")


Words = Annotated[str, BeforeValidator(_even), AfterValidator(_without_addresses)]
Name = Annotated[Words, _fits(120), _at_most(120)]
Idea = Annotated[Words, _fits(300), _at_most(300)]


def _tag(value: Any) -> Any:
    return value.strip().lstrip("#").lower() if isinstance(value, str) else value


def _each_once(value: list[Any]) -> list[Any]:
    return list(dict.fromkeys(value))


def _at_first(most: int) -> BeforeValidator:
    """Keep the first ones if the model gives more than asked for."""
    return BeforeValidator(lambda value: value[:most] if isinstance(value, list) else value)


# Other words that models use for the kinds of names.
_KINDS = {
    "person": EntityKind.PERSON, "people": EntityKind.PERSON, "persons": EntityKind.PERSON,
    "organization": EntityKind.ORGANIZATION, "organizations": EntityKind.ORGANIZATION,
    "organisation": EntityKind.ORGANIZATION, "organisations": EntityKind.ORGANIZATION,
    "company": EntityKind.ORGANIZATION, "companies": EntityKind.ORGANIZATION, "org": EntityKind.ORGANIZATION,
    "place": EntityKind.PLACE, "places": EntityKind.PLACE, "location": EntityKind.PLACE,
    "locations": EntityKind.PLACE, "country": EntityKind.PLACE, "city": EntityKind.PLACE,
    "work": EntityKind.WORK, "works": EntityKind.WORK, "product": EntityKind.WORK, "title": EntityKind.WORK,
}  # fmt: skip


def _kind(said: Any) -> EntityKind:
    return _KINDS.get(str(said).strip().lower(), EntityKind.OTHER)


def _entities(said: Any) -> Any:
    """Names in the shapes that models give them: in lists by kind, as bare names, with a type instead."""
    if isinstance(said, dict):
        listed = [(kind, names) for kind, names in said.items() if isinstance(names, list)]
        said = [{"name": name, "kind": kind} for kind, names in listed for name in names]
    if not isinstance(said, list):
        return said
    return [_entity(one) for one in said]


def _entity(said: Any) -> Any:
    if isinstance(said, str):
        return {"name": said, "kind": EntityKind.OTHER}
    if isinstance(said, dict):
        return said | {"kind": _kind(said.get("kind", said.get("type")))}
    return said


def _language(said: Any) -> Any:
    """`en` of `en-GB`; `und` if it is not a language code, which is not worth another paid call."""
    if not isinstance(said, str):
        return said
    code = said.strip().lower().replace("_", "-").partition("-")[0]
    return code if code.isascii() and code.isalpha() and len(code) in (2, 3) else "und"


class _Said(BaseModel):
    """Fields that are not in the contract are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Entity(_Said):
    """Somebody or something the text is about."""

    name: Name
    kind: EntityKind


Tag = Annotated[Words, BeforeValidator(_tag), _fits(40), _at_most(40)]


class Draft(_Said):
    """The fields that a model is asked for. Facts that can be counted are counted instead."""

    summary_250: Annotated[Words, _fits(250), _at_most(250)]
    summary_1000: Annotated[Words, _fits(1000), _at_most(1000)]
    tldr: Annotated[Words, _fits(400), _at_most(400)]
    key_ideas: Annotated[
        list[Idea], Field(min_length=1, max_length=8, description="1 to 8 of them."), _at_first(8)
    ]
    topic_tags: Annotated[
        list[Tag],
        Field(min_length=1, max_length=10, description="1 to 10 of them."),
        _at_first(10),
        AfterValidator(_each_once),
    ]
    entities: Annotated[
        list[Entity],
        Field(max_length=20, description="At most 20 of them."),
        _at_first(20),
        BeforeValidator(_entities),
        AfterValidator(_each_once),
    ]
    language: Annotated[
        str,
        BeforeValidator(_language),
        Field(pattern="^[a-z]{2,3}$", description="ISO 639 code of the text's main language."),
    ] = "und"


class Summary(Draft):
    reading_time_minutes: int = Field(ge=1)


class StoredSummary(BaseModel):
    """A summary, and where it comes from."""

    request_id: str
    url: str
    title: str
    method: Method
    model: str | None = None
    label: str
    """For people: who wrote it."""
    summary: Summary
    created_at: datetime


def label_of(method: Method, model: str | None) -> str:
    if method is Method.EXTRACTIVE:
        return "Extractive: the article's own sentences, chosen by counting words. No model wrote this."
    return f"Written by {model}."


class BrokenContract(ValueError):
    """An answer that is no summary. `problems` are sentences that its author can act on."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def checked_draft(content: str) -> Draft:
    """The draft in an answer, or a BrokenContract with its problems. A code fence around it is allowed."""
    if len(content) > _LONGEST_ANSWER:
        raise BrokenContract([f"The answer has {len(content)} characters; a summary is much shorter."])
    try:
        said = json.loads(_without_fence(content.strip()))
    except (json.JSONDecodeError, RecursionError) as error:
        where = f" (at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        raise BrokenContract([f"The answer is not one complete JSON document{where}."]) from error
    try:
        return Draft.model_validate(said)
    except ValidationError as error:
        problems = [_problem(found) for found in error.errors(include_url=False, include_input=False)]
        raise BrokenContract(problems[:_MOST_PROBLEMS]) from error


def _without_fence(content: str) -> str:
    if not (content.startswith("```") and content.endswith("```")):
        return content
    first, _, rest = content.removesuffix("```").partition("\n")
    return rest if first.lower() in ("```", "```json") else content


def _problem(found: Any) -> str:
    """In our own words: the model gets no part of its answer back, since the text may have dictated it."""
    place = ".".join(str(part) for part in found["loc"]) or "the answer"
    return f"{place}: {found['msg'].removeprefix('Value error, ')[:200]}"


# Providers refuse these in strict mode; our own check applies them all the same.
_NOT_FOR_PROVIDERS = frozenset({"minLength", "maxLength", "maxItems", "default", "title"})


def wire_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema as providers take it: every property required, none beside them."""
    return _for_providers(model.model_json_schema())  # type: ignore[no-any-return]


def _for_providers(schema: Any, *, names: bool = False) -> Any:
    """`names`: the keys at this level are names of properties."""
    if isinstance(schema, list):
        return [_for_providers(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _for_providers(value, names=key in ("properties", "$defs") and not names)
        for key, value in schema.items()
        if names or key not in _NOT_FOR_PROVIDERS
    }
    if not names and kept.get("type") == "object":
        kept.pop("description", None)  # words for programmers
        kept |= {"required": list(kept.get("properties", {})), "additionalProperties": False}
    return kept
