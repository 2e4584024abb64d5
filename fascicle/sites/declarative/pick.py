"""The place of a value in a document: a CSS selector or a JSON path, and the changes to the value found."""

import re
from typing import Annotated, Any

import jsonpath
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

_ATTRIBUTE = re.compile(r"(?P<css>.*?)::attr\((?P<attr>[\w:.-]+)\)")
_NOTHING = LexborHTMLParser("")


def _checked_css(selector: str) -> str:
    try:
        _NOTHING.css(selector)
    except SelectolaxError as error:
        raise ValueError(f"{selector!r} is not a CSS selector that can be read") from error
    return selector


def _checked_path(path: str) -> str:
    try:
        jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        raise ValueError(f"{path!r} is not a JSON path: {error.args[0]}") from error
    return path


def _checked_regex(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
    return pattern


Regex = Annotated[str, AfterValidator(_checked_regex)]


class Pick(BaseModel):
    """A value's place. Short forms: `a.title`, `a::attr(href)`, `::attr(data-id)`, `$.chapter.id`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    css: Annotated[str, AfterValidator(_checked_css)] | None = None
    attr: str | None = None
    path: Annotated[str, AfterValidator(_checked_path)] | None = Field(None, alias="json")
    regex: Regex | None = None
    """The value is its first group, or the whole match if it has no group. No match: no value."""
    template: str | None = None
    """`{value}` in it is replaced by the value found."""

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        if given.startswith("$"):
            return {"json": given}
        if match := _ATTRIBUTE.fullmatch(given.strip()):
            return {name: found for name, found in match.groupdict().items() if found}
        return {"css": given.strip()}

    @model_validator(mode="after")
    def _one_kind(self) -> "Pick":
        if self.is_json == bool(self.css or self.attr):
            raise ValueError(
                "say where it is: a CSS selector and/or `attr`, or a JSON path that begins with $"
            )
        if self.template is not None and "{value}" not in self.template:
            raise ValueError("`template` needs {value} in it")
        return self

    @property
    def is_json(self) -> bool:
        return self.path is not None

    def __str__(self) -> str:
        return self.path or f"{self.css or ''}{f'::attr({self.attr})' if self.attr else ''}"

    def refine(self, found: str) -> str | None:
        """The value after `regex` and `template`."""
        if self.regex is not None:
            match = re.search(self.regex, found)
            if match is None:
                return None
            found = (match[1] if match.re.groups else match[0]) or ""
        if found and self.template is not None:
            found = self.template.replace("{value}", found)
        return found or None
