"""XML by hand, since feeds are to come out just as written here."""

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr


def element(name: str, *children: str, attributes: Mapping[str, str] | None = None) -> str:
    """One with children, which are XML themselves, each on a line of its own."""
    given = "".join(f" {key}={quoteattr(value)}" for key, value in (attributes or {}).items())
    if not children:
        return f"<{name}{given}/>"
    inside = "\n".join(child for child in children if child)
    return f"<{name}{given}>\n{inside}\n</{name}>"


def text(name: str, value: str | None, attributes: Mapping[str, str] | None = None) -> str:
    """One with text; nothing at all where there is none."""
    if value is None:
        return ""
    given = "".join(f" {key}={quoteattr(setting)}" for key, setting in (attributes or {}).items())
    return f"<{name}{given}>{escape(value)}</{name}>"


def lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
