"""Makes an article from the HTML of its page."""

import re

from selectolax.lexbor import LexborHTMLParser

from fascicle.domain.errors import PermanentError
from fascicle.domain.feeds.item_page import PageMetadata
from fascicle.domain.plain_text import storable
from fascicle.domain.summaries.article import Article, Candidate, check_article, length_in_words
from fascicle.domain.urls import address_title, page_host, place
from fascicle.sites.articles.markup import Links, key_of
from fascicle.sites.articles.text import main_text
from fascicle.sites.articles.trimming import trimmed
from fascicle.sites.markup_guards import would_take_minutes
from fascicle.sites.pages import values
from fascicle.sites.pages.decoding import decoded
from fascicle.sites.pages.json_ld import main_thing
from fascicle.sites.pages.language import agreed_language
from fascicle.sites.pages.main_text import beginning_of_page
from fascicle.sites.pages.metadata import page_metadata
from fascicle.sites.pages.text import LONGEST_TEXT

# Marks of the challenge pages, not of the scripts that the same services put into every page.
_CHALLENGE_SCRIPTS = ("_cf_chl_opt", "px-captcha", "captcha-delivery.com")
_MARKED = re.compile(r"(?:\w*Article|\w*Posting|Report|Review|article)")
_INVISIBLE = "script, style, noscript, template, svg, head, iframe, select"
_LAST_PART = re.compile(r"(?P<name>.+\S)\s+(?P<bar>[|»–—-])\s+(?P<last>[^|»]{1,60})")
_ENOUGH_TO_SEE = 2000


def article_of_page(body: bytes, *, url: str, content_type: str | None, min_words: int) -> Article:
    """Only the beginning of a page is read: a longer one is a list or a book."""
    body = beginning_of_page(body)
    if would_take_minutes(body):
        raise PermanentError("not_an_article", f"{place(url)[:200]} is no page that a browser could show.")
    html = storable(decoded(body, content_type))
    tree = LexborHTMLParser(html)
    metadata = page_metadata(html.encode(), url=url, content_type="text/html; charset=utf-8")
    title = _title(tree, metadata) or address_title(url)
    found = main_text(html, url)
    links = found.links
    lines = trimmed(found.lines, links, title=title, author=metadata.author)
    text = "\n".join(lines)[:LONGEST_TEXT]
    check_article(_candidate(html, tree, url, title, lines, links, metadata.kind), min_words=min_words)
    return Article(
        url=url,
        title=title,
        text=text,
        language=agreed_language(text, metadata.language),
        author=metadata.author,
        site_name=metadata.site_name,
        published_at=metadata.published_at,
        extractor="trafilatura",
    )


def _title(tree: LexborHTMLParser, metadata: PageMetadata) -> str | None:
    """The title without the site's name: a heading, if it is a part of the page's title."""
    said = metadata.title
    headings = [heading for node in tree.css("h1")[:5] if (heading := values.line(node.text(separator=" ")))]
    inside = [heading for heading in headings if key_of(heading) and key_of(heading) in key_of(said or "")]
    if inside and length_in_words(inside[0]) >= 3:
        return inside[0]
    return _without_site(said, metadata) if said else next(iter(headings), None)


def _without_site(title: str, metadata: PageMetadata) -> str:
    """Cut the last part: after a bar always, after a dash only if it names the site or the author."""
    match = _LAST_PART.fullmatch(title)
    if match is None or length_in_words(match["name"]) < 3:
        return title
    names = {key_of(name) for name in (metadata.site_name, metadata.author, page_host(metadata.url)) if name}
    names |= {key_of(part) for part in page_host(metadata.url).split(".")}
    return match["name"] if match["bar"] in "|»" or key_of(match["last"]) in names else title


def _candidate(
    html: str, tree: LexborHTMLParser, url: str, title: str, lines: list[str], links: Links, kind: str | None
) -> Candidate:
    visible, words, words_in_links = _visible(html)
    text = "\n".join(lines)
    # If all links have become one line: words that the rest of the page cannot contain must be theirs.
    surely_linked = min(words_in_links, length_in_words(text) - (words - words_in_links))
    return Candidate(
        url=url,
        title=title,
        text=text,
        visible=visible,
        visible_words=words,
        visible_links=words_in_links,
        linked_words=max(links.words_linked(lines), surely_linked),
        headlines=links.headlines_among(lines),
        is_marked=bool(_MARKED.fullmatch(kind or "")),
        has_scripts=tree.css_first("script") is not None,
        asks_for_password=tree.css_first('input[type="password"]') is not None,
        is_restricted=_is_restricted(tree),
        is_challenge=any(script in html for script in _CHALLENGE_SCRIPTS),
    )


def _visible(html: str) -> tuple[str, int, int]:
    """The beginning of the visible text, one block per line; the counts of visible words and linked words."""
    tree = LexborHTMLParser(html)
    for node in tree.css(_INVISIBLE):
        node.decompose()
    text = tree.body.text(separator="\n", strip=True) if tree.body else ""
    links = "\n".join(link.text() for link in tree.css("a"))
    return text[:_ENOUGH_TO_SEE], length_in_words(text), length_in_words(links)


def _is_restricted(tree: LexborHTMLParser) -> bool:
    free = main_thing(tree).get("isAccessibleForFree")
    return free is False or (isinstance(free, str) and free.strip().lower() == "false")
