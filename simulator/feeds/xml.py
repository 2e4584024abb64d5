"""XML written by hand, so that feeds come out exactly as written here."""

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr


def element(name: str, *children: str, attributes: Mapping[str, str] | None = None) -> str:
    """An element with children; each child is XML and gets its own line, an empty one is left out."""
    given = "".join(f" {key}={quoteattr(value)}" for key, value in (attributes or {}).items())
    if not children:
        return f"<{name}{given}/>"
    inside = "\n".join(child for child in children if child)
    return f"<{name}{given}>\n{inside}\n</{name}>"


def text(name: str, value: str | None, attributes: Mapping[str, str] | None = None) -> str:
    """An element with text; an empty text, without any element, if `value` is None."""
    if value is None:
        return ""
    given = "".join(f" {key}={quoteattr(setting)}" for key, setting in (attributes or {}).items())
    return f"<{name}{given}>{escape(value)}</{name}>"


def lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
