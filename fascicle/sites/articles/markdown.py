"""Makes an article from Firecrawl's Markdown."""

import re
from collections.abc import Mapping

from fascicle.domain.feeds.item_page import primary_language
from fascicle.domain.plain_text import storable
from fascicle.domain.summaries.article import Article, Candidate, check_article, length_in_words
from fascicle.domain.urls import address_title
from fascicle.sites.articles.markup import Links, key_of
from fascicle.sites.articles.trimming import trimmed
from fascicle.sites.pages import values
from fascicle.sites.pages.language import agreed_language
from fascicle.sites.pages.text import LONGEST_TEXT, text_of_html

_TARGET = r"\((?:[^()\s]|\([^()\s]{0,200}\)){0,2000}(?:\s+[\"'][^\"'\n]{0,300}[\"'])?\s*\)"
_IMAGE = re.compile(rf"!\[[^\[\]\n]{{0,2000}}\]{_TARGET}")
_LINK = re.compile(rf"\[([^\[\]\n]{{0,2000}})\]{_TARGET}")
_BARE_LINK = re.compile(r"<(?:https?://|mailto:)[^<>\s]{1,2000}>")
# All parts are possessive: otherwise a line that is nearly a rule would take exponential time.
_RULE = re.compile(r"\s*+(?:[-*_=]\s*+){3,}+|\s*+\|?+(?:\s*+:?+-{2,}+:?+\s*+\|?+)++")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_LEADING = re.compile(r"\s*(?:>\s*)*")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+")
_EMPHASIS = re.compile(r"(\*{1,3}(?!\*)|_{1,3}(?!_)|~~|`{1,3}(?!`))(?=\S)([^\n]{1,300}?)(?<=\S)\1(?!\w)")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")


def article_of_markdown(markdown: str, *, url: str, said: Mapping[str, str], min_words: int) -> Article:
    title = values.line(said.get("title"))
    links = Links()
    lines = plain_lines(storable(markdown)[:LONGEST_TEXT], links)
    title = title or (lines[0][:200] if lines else "") or address_title(url)
    author = values.line(said.get("author"))
    lines = trimmed(lines, links, title=title, author=author)
    text = "\n".join(lines)
    candidate = Candidate(
        url=url,
        title=title,
        text=text,
        visible=text,
        visible_words=length_in_words(text),
        linked_words=links.words_linked(lines),
        headlines=links.headlines_among(lines),
    )
    check_article(candidate, min_words=min_words)
    return Article(
        url=url,
        title=title,
        text=text,
        language=agreed_language(text, primary_language(said.get("language"))),
        author=author,
        site_name=values.line(said.get("site_name")),
        published_at=values.time(said.get("published_at")),
        extractor="firecrawl",
    )


def plain_lines(markdown: str, links: Links) -> list[str]:
    """Links become their words, images are removed, headings become lines; `links` notes the links."""
    found = []
    is_code = False
    paragraph: list[str] = []
    for line in [*markdown.splitlines(), ""]:
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
            continue
        starts_anew = (
            not line.strip() or is_code or _HEADING.match(line) or _BULLET.match(line.lstrip()) or "|" in line
        )
        if starts_anew and paragraph:
            found.append(_plain(" ".join(paragraph), links))
            paragraph = []
        if _HEADING.match(line):
            found.append(_plain(line, links))
        elif line.strip() and (is_code or not _RULE.fullmatch(line)):
            paragraph.append(line)
    return [line for line in found if line]


def _plain(paragraph: str, links: Links) -> str:
    is_heading = _HEADING.match(paragraph) is not None
    bare = _LEADING.sub("", _HEADING.sub("", paragraph), count=1)
    bare = _BARE_LINK.sub("", _IMAGE.sub("", bare))
    # Twice, because a link may contain another one.
    linked = "".join(_LINK.findall(bare))
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", bare))
    text = _ESCAPE.sub(r"\1", _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text)))
    line = " ".join(text_of_html(text).split()).strip("| ")
    if not (key := key_of(line)):
        return ""
    links.note(line, min(1.0, len(key_of(linked)) / len(key)), is_heading=is_heading)
    return line
