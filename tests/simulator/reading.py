"""What the tests read out of feeds and pages."""

from typing import Any

import feedparser
import httpx
from selectolax.lexbor import LexborHTMLParser


def parsed(answer: httpx.Response) -> Any:
    assert answer.status_code == 200
    return feedparser.parse(answer.content, sanitize_html=False)


def head(answer: httpx.Response) -> dict[str, str]:
    """What a page's head says, by property, itemprop or rel."""
    tree = LexborHTMLParser(answer.text)
    metas = [(tag.attributes, tag.attributes.get("content")) for tag in tree.css("head meta")]
    links = [(tag.attributes, tag.attributes.get("href")) for tag in tree.css("head link")]
    keys = ("property", "itemprop", "rel")
    return {
        str(name): str(value)
        for attributes, value in metas + links
        if (name := next((attributes[key] for key in keys if key in attributes), None))
    }
