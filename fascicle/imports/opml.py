"""OPML, the export format of feed readers. Only outlines with a series of a known site are imported."""

from collections.abc import Callable

from fascicle.imports.wanted import Parsed, Wanted, title_text, unusable, url_text
from fascicle.imports.xml import parse_xml

_ADDRESSES = ("htmlUrl", "xmlUrl", "url")


def parse_opml(data: bytes, is_series: Callable[[str], bool]) -> Parsed:
    root = parse_xml(data)
    if root.tag.lower() != "opml":
        raise unusable(f"This is XML, but no OPML: its root is <{root.tag[:50]}>.")
    wanted: list[Wanted] = []
    feeds = 0
    for outline in root.iter("outline"):
        addresses = [url for name in _ADDRESSES if (url := url_text(outline.get(name)))]
        url = next(filter(is_series, addresses), None)
        if url:
            title = title_text(outline.get("title") or outline.get("text"))
            wanted.append(Wanted(title=title, url=url))
        elif addresses:
            feeds += 1
    notes = (f"{feeds} feeds left out: `fascicle feed import FILE` follows them",) if feeds else ()
    return Parsed(wanted, notes)
