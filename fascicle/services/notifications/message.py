"""Formats a message for a kind of channel: other people's words stay plain text, only our links are links."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from urllib.parse import quote

from fascicle.domain.harmless_text import disarmed, escape_markdown, is_web_link, one_line

# Programs read these, so they get the text unchanged.
_PROGRAMS = frozenset({"json", "jsons", "xml", "xmls", "form", "forms"})
# These services format plain text from Apprise as Markdown.
_FORMATS_TEXT = frozenset(
    {"discord", "guilded", "revolt", "mmost", "mmosts", "nctalk", "nctalks", "notifiarr", "ryver", "schan"}
)
# These services also format titles that have a field of their own; dingtalk only if it takes Markdown.
_FORMATS_TITLES = frozenset(
    {"discord", "guilded", "revolt", "nctalk", "nctalks", "notifiarr", "ryver", "workflow", "workflows"}
)
_FORMATS_TITLES_OF_MARKDOWN = frozenset({"dingtalk"})
_MORE = "…"
_CALLED_IN_LINKS = ("everyone", "here", "channel", "all", "room")


class Markup(StrEnum):
    """Apprise's names for the formats that a channel takes."""

    TEXT = "text"
    HTML = "html"
    MARKDOWN = "markdown"


@dataclass(frozen=True)
class Message:
    title: str
    body: str
    links: Collection[str] = ()
    """The lines of the body that are our own addresses."""


@dataclass(frozen=True)
class Place:
    """How a channel shows a message."""

    kinds: Collection[str]
    markup: Markup
    has_titles: bool = True
    """False: the title is put above the body."""
    most: int = 0
    """The most characters of a body; 0: no limit."""


@dataclass(frozen=True)
class _Style:
    words: Callable[[str], str]
    link: Callable[[str], str]
    end: str = "\n"


def closing_link(body: str) -> tuple[str, ...]:
    """The last line if it is a link: our own messages have their address there."""
    last = body.rpartition("\n")[2].strip()
    return (last,) if is_web_link(last) else ()


def fit_for(place: Place, message: Message) -> tuple[str, str]:
    """The title and the body, in the place's markup."""
    if _PROGRAMS & set(place.kinds):
        return message.title, _body(message, _AS_IT_IS, place.most)
    style = _FORMATTED_TEXT if _FORMATS_TEXT & set(place.kinds) else _STYLES[place.markup]
    title = one_line(message.title)
    if place.has_titles:
        shown = escape_markdown(title) if _formats_titles(place) else disarmed(title)
        return shown, _body(message, style, place.most)
    if place.most:
        title = _cut(title, style, place.most // 2)
    shown = style.words(title)
    # 16 characters are left for the markup that Apprise puts around a title.
    return shown, _body(message, style, place.most and max(1, place.most - len(shown) - 16))


def _formats_titles(place: Place) -> bool:
    kinds = set(place.kinds)
    if place.markup is Markup.MARKDOWN and _FORMATS_TITLES_OF_MARKDOWN & kinds:
        return True
    return bool(_FORMATS_TITLES & kinds)


def _body(message: Message, style: _Style, most: int) -> str:
    """As many whole lines as fit: the service would refuse a longer body every time."""
    lines = message.body.split("\n")
    shown = [_line(line, message.links, style) for line in lines]
    whole = style.end.join(shown)
    if not most or len(whole) <= most:
        return whole
    kept, room = [], most - len(_MORE)
    for line in shown:
        room -= len(line) + len(style.end)
        if room < 0:
            break
        kept.append(line)
    room = most - len(style.end) - len(_MORE)
    return style.end.join([*(kept or [style.words(_cut(lines[0], style, room))]), _MORE])


def _line(line: str, links: Collection[str], style: _Style) -> str:
    address = line.strip()
    if address not in links or not is_web_link(address):
        return style.words(line)
    return line[: len(line) - len(line.lstrip())] + style.link(address)


def _cut(text: str, style: _Style, most: int) -> str:
    """The text, cut so that it fits after formatting."""
    text = text[: max(0, most)]
    while len(style.words(text)) > most and text:
        text = text[: len(text) * 3 // 4]
    return text


def _calling_nobody(address: str) -> str:
    for name in _CALLED_IN_LINKS:
        address = address.replace(f"@{name}", f"%40{name}")
    return address


def _for_markdown(address: str) -> str:
    """Without the characters that end a link or begin another."""
    return quote(_calling_nobody(address), safe="/:?#@!$&'+,;=%-._")


def _as_html(text: str) -> str:
    return escape(disarmed(text), quote=False)


def _html_link(address: str) -> str:
    there = escape(_calling_nobody(address))
    return f'<a href="{there}">{there}</a>'


def _markdown_link(address: str) -> str:
    there = _for_markdown(address)
    return f"[{escape_markdown(there)}]({there})"


_AS_IT_IS = _Style(str, str)
_FORMATTED_TEXT = _Style(escape_markdown, _for_markdown)
_STYLES = {
    Markup.TEXT: _Style(disarmed, _calling_nobody),
    Markup.HTML: _Style(_as_html, _html_link, "<br />\n"),
    Markup.MARKDOWN: _Style(escape_markdown, _markdown_link),
}
