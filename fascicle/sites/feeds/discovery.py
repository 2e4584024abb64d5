"""Finds feeds that a page links to. It parses: use it only in a parsing process."""

import re
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from fascicle.domain.feeds.feed import FeedLink
from fascicle.sites.feeds.fields import line, web_address
from fascicle.sites.markup_guards import would_take_minutes

_TYPES = {
    "application/rss+xml": 0,
    "application/atom+xml": 0,
    "application/feed+json": 1,
    "application/rdf+xml": 1,
    "application/json": 2,
    "application/xml": 2,
    "text/xml": 2,
}
# APIs of WordPress and others that describe the page in JSON, but are no feeds.
_NO_FEED = re.compile(r"/wp-json/|oembed|/api/|manifest", re.IGNORECASE)
_COMMENTS = re.compile(r"comment|kommentar|commentaire", re.IGNORECASE)
_FEED_PATH = re.compile(
    r"/(?:feeds?|rss|atom|rdf)/?$|\.(?:rss|atom|rdf)$|/(?:feed|rss|atom|index|rdf)\.(?:xml|json|php)$",
    re.IGNORECASE,
)
_MOST = 20


def feed_links(html: bytes, *, url: str) -> list[FeedLink]:
    """The feeds of the page at `url`, the best first; none for a page that no browser could show."""
    if would_take_minutes(html):
        return []
    tree = LexborHTMLParser(html)
    base = _base(tree, url)
    found = _declared(tree, base) + _anchors(tree, base)
    unique: dict[str, FeedLink] = {}
    for link in found:
        unique.setdefault(link.url, link)
    return list(unique.values())[:_MOST]


def _base(tree: LexborHTMLParser, url: str) -> str:
    element = tree.css_first("base[href]")
    href = element.attributes.get("href") if element else None
    return web_address(href, url) or url


def _declared(tree: LexborHTMLParser, base: str) -> list[FeedLink]:
    """In the page's order, but feeds of comments last, and vague types after the certain ones."""
    found = [link for node in tree.css("link[href][rel]") if (link := _declared_link(node, base))]
    return sorted(found, key=lambda link: (_is_about_comments(link), _TYPES[link.type]))


def _declared_link(node: LexborNode, base: str) -> FeedLink | None:
    attributes = node.attributes
    rels = (attributes.get("rel") or "").lower().split()
    kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
    url = web_address(attributes.get("href"), base)
    if url is None or kind not in _TYPES or not {"alternate", "feed"}.intersection(rels):
        return None
    if "stylesheet" in rels or (_TYPES[kind] == 2 and _NO_FEED.search(url)):
        return None
    return FeedLink(url=url, title=line(attributes.get("title"), longest=200), type=kind)


def _anchors(tree: LexborHTMLParser, base: str) -> list[FeedLink]:
    found = []
    for node in tree.css("a[href]"):
        url = web_address(node.attributes.get("href"), base)
        if url and _FEED_PATH.search(urlsplit(url).path):
            found.append(FeedLink(url=url, title=line(node.text(), longest=200)))
    return sorted(found, key=_is_about_comments)


def _is_about_comments(link: FeedLink) -> bool:
    return bool(_COMMENTS.search(link.title) or _COMMENTS.search(urlsplit(link.url).path))
