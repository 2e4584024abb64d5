"""A page's metadata from Open Graph, Twitter cards, JSON-LD and plain HTML; the first usable value counts."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from selectolax.lexbor import LexborHTMLParser

from fascicle.domain.feeds.item_page import PageMetadata, primary_language
from fascicle.sites.markup import tree_of
from fascicle.sites.markup_guards import would_take_minutes
from fascicle.sites.pages import values
from fascicle.sites.pages.decoding import decoded
from fascicle.sites.pages.json_ld import Thing, addresses_of, kind_of, main_thing, name_of

T = TypeVar("T")
_MOST_TAGS = 500
_IMAGES = (
    "og:image:secure_url",
    "og:image",
    "og:image:url",
    "twitter:image",
    "twitter:image:src",
    "image",
    "thumbnailurl",
)
_DURATIONS = ("duration", "video:duration", "og:video:duration", "music:duration")
_TIMES = (
    "article:published_time",
    "og:article:published_time",
    "datepublished",
    "uploaddate",
    "date",
    "dc.date",
)


def page_metadata(html: bytes, *, url: str, content_type: str | None) -> PageMetadata:
    """`url` is the base of relative addresses. Raises for a page that cannot be parsed."""
    tree = tree_of(decoded(html, content_type).encode(), url, is_garbage=would_take_minutes)
    meta, thing = _meta(tree), main_thing(tree)
    links = _links(tree, url)
    return PageMetadata(
        url=url,
        content_type=values.line(content_type, longest=100),
        title=_title(tree, meta, thing),
        description=_description(meta, thing),
        site_name=_site_name(meta, thing),
        author=_author(meta, thing),
        image_url=_image(meta, thing, links, url),
        published_at=_first(
            [*meta.all(*_TIMES), thing.get("datePublished"), thing.get("uploadDate")], values.time
        ),
        duration_seconds=_duration(meta, thing),
        language=_language(tree, meta, thing),
        canonical_url=links.get("canonical") or values.address(meta.get("og:url"), url),
        oembed_url=links.get("oembed"),
        kind=kind_of(thing) or values.line(meta.get("og:type"), longest=40),
    )


class _Meta:
    """`<meta>` by property, name or itemprop, in lower case, in the page's order."""

    def __init__(self, said: dict[str, list[str]]) -> None:
        self._said = said

    def all(self, *names: str) -> list[str]:
        return [value for name in names for value in self._said.get(name, [])]

    def get(self, *names: str) -> str | None:
        return next(iter(self.all(*names)), None)


def _meta(tree: LexborHTMLParser) -> _Meta:
    said: dict[str, list[str]] = {}
    for tag in tree.css("meta[content]")[:_MOST_TAGS]:
        content = (tag.attributes.get("content") or "").strip()
        for attribute in ("property", "name", "itemprop", "http-equiv"):
            name = (tag.attributes.get(attribute) or "").strip().lower()
            if name and content:
                said.setdefault(name, []).append(content)
    return _Meta(said)


def _links(tree: LexborHTMLParser, url: str) -> dict[str, str]:
    """The canonical address, the picture and the oEmbed address that the page links to."""
    found: dict[str, str] = {}
    for link in tree.css("link[rel][href]")[:_MOST_TAGS]:
        rels = (link.attributes.get("rel") or "").lower().split()
        target = values.address(link.attributes.get("href"), url)
        if target is None:
            continue
        for rel in ("canonical", "image_src"):
            if rel in rels:
                found.setdefault(rel, target)
        if (link.attributes.get("type") or "").strip().lower() == "application/json+oembed":
            found.setdefault("oembed", target)
    return found


def _first(candidates: Iterable[Any], made_of: Callable[[Any], T | None]) -> T | None:
    return next((made for candidate in candidates if (made := made_of(candidate)) is not None), None)


def _title(tree: LexborHTMLParser, meta: _Meta, thing: Thing) -> str | None:
    element = tree.css_first("head title") or tree.css_first("title")
    said = [
        meta.get("og:title"),
        thing.get("headline"),
        meta.get("twitter:title"),
        thing.get("name"),
        element.text() if element else None,
    ]
    return _first(said, values.line)


def _description(meta: _Meta, thing: Thing) -> str | None:
    said = [
        *meta.all("og:description"),
        thing.get("description"),
        *meta.all("twitter:description", "description"),
    ]
    return _first(said, values.description)


def _site_name(meta: _Meta, thing: Thing) -> str | None:
    said = [*meta.all("og:site_name", "application-name"), name_of(thing.get("publisher"))]
    return _first(said, values.line)


def _author(meta: _Meta, thing: Thing) -> str | None:
    said = [thing.get("author"), *meta.all("author", "article:author", "parsely-author", "dc.creator")]
    return _first((name_of(one) for one in said), values.line)


def _image(meta: _Meta, thing: Thing, links: dict[str, str], url: str) -> str | None:
    said = [
        *meta.all(*_IMAGES),
        *addresses_of(thing.get("image")),
        *addresses_of(thing.get("thumbnailUrl")),
        links.get("image_src"),
    ]
    return _first(said, lambda candidate: values.address(candidate, url))


def _duration(meta: _Meta, thing: Thing) -> int | None:
    # `timeRequired` of an article is its reading time, of an episode its length.
    required = thing.get("timeRequired") if kind_of(thing) == "PodcastEpisode" else None
    return _first([thing.get("duration"), required, *meta.all(*_DURATIONS)], values.duration)


def _language(tree: LexborHTMLParser, meta: _Meta, thing: Thing) -> str | None:
    root = tree.css_first("html")
    attributes = root.attributes if root else {}
    in_language = thing.get("inLanguage")
    said = [
        attributes.get("lang"),
        attributes.get("xml:lang"),
        in_language if isinstance(in_language, str) else None,
        *meta.all("og:locale", "content-language", "inlanguage"),
    ]
    return _first(said, primary_language)
