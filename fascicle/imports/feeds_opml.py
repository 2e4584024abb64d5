"""OPML as lists of feeds: import from other readers, and export for them (I7)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fascicle.domain.urls import address_title
from fascicle.imports.wanted import MAX_ROWS, MAX_TITLE, title_text, unusable, url_text
from fascicle.imports.xml import parse_xml

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class WantedFeed:
    url: str
    title: str | None = None
    folder: str | None = None
    """Outer and inner folders, joined with a slash."""
    page: str | None = None
    """The address of the feed's site, for people."""


class FeedList(list[WantedFeed]):
    """The feeds of a file in its order; `notes` report the outlines that were left out."""

    notes: tuple[str, ...] = ()


def parse_feed_opml(data: bytes) -> FeedList:
    """Each feed once, in the folder of its first outline."""
    root = parse_xml(data.lstrip())
    if root.tag.lower() != "opml":
        raise unusable(f"This is XML, but no OPML: its root is <{root.tag[:50]}>.")
    found: dict[str, WantedFeed] = {}
    doubled = without_address = 0
    for outline, folder in _leaves(root):
        feed = _feed(outline, folder)
        if feed is None:
            without_address += 1
        elif feed.url in found:
            doubled += 1
        else:
            found[feed.url] = feed
    if len(found) > MAX_ROWS:
        raise unusable(f"{len(found):,} feeds are too many for one file; the most are {MAX_ROWS:,}.")
    feeds = FeedList(found.values())
    feeds.notes = tuple(_notes(doubled, without_address))
    return feeds


def feeds_opml(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """OPML 2.0 of subscriptions: `url` and, as far as known, `title`, `site_url` and `folder`."""
    root = Element("opml", version="2.0")
    SubElement(SubElement(root, "head"), "title").text = "Feeds in Fascicle"
    body = SubElement(root, "body")
    folders: dict[str, Element] = {}
    written: set[str] = set()
    for row in rows:
        if row["url"] not in written:
            written.add(row["url"])
            SubElement(_folder(body, folders, row.get("folder")), "outline", _attributes(row))
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _leaves(root: Element) -> Iterator[tuple[Element, str | None]]:
    """Outlines that are no folders, in their order. An outline with a feed may have others below it."""
    waiting: list[tuple[Element, str | None]] = [(root, None)]
    while waiting:
        element, folder = waiting.pop()
        below = folder
        if element.tag.lower() == "outline":
            if not len(element) or _value(element, "xmlurl"):
                yield element, folder
            else:
                below = _joined(folder, _name(element))
        waiting.extend((child, below) for child in reversed(element))


def _feed(outline: Element, folder: str | None) -> WantedFeed | None:
    url = url_text(_value(outline, "xmlurl"))
    if url is None:
        return None
    name = _name(outline)
    if name and name.startswith(("http://", "https://")):
        name = None  # readers without a title write the address, which may contain secrets
    return WantedFeed(url, name, folder, url_text(_value(outline, "htmlurl")))


def _value(outline: Element, wanted: str) -> str | None:
    """Readers write xmlUrl, xmlurl and XMLURL."""
    return next((value for name, value in outline.items() if name.lower() == wanted and value.strip()), None)


def _name(outline: Element) -> str | None:
    return title_text(_value(outline, "title")) or title_text(_value(outline, "text"))


def _joined(outer: str | None, name: str | None) -> str | None:
    return "/".join(part for part in (outer, name) if part)[:MAX_TITLE] or None


def _notes(doubled: int, without_address: int) -> Iterator[str]:
    if doubled:
        yield f"{doubled} outlines name a feed for the second time"
    if without_address:
        yield f"{without_address} outlines have no feed's address (xmlUrl)"


def _folder(body: Element, folders: dict[str, Element], path: str | None) -> Element:
    place, walked = body, ""
    for name in filter(None, (path or "").split("/")):
        walked = f"{walked}/{name}"
        if walked not in folders:
            shown = _NOT_XML.sub("\ufffd", name)
            folders[walked] = SubElement(place, "outline", {"text": shown, "title": shown})
        place = folders[walked]
    return place


def _attributes(row: Mapping[str, Any]) -> dict[str, str]:
    title = row.get("title") or address_title(row["url"])
    values = {"type": "rss", "text": title, "title": title, "xmlUrl": row["url"]}
    if row.get("site_url"):
        values["htmlUrl"] = row["site_url"]
    return {name: _NOT_XML.sub("\ufffd", value) for name, value in values.items()}
