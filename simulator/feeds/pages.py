"""A blog's pages: its home, its articles, and the oEmbed answer for an article."""

import json
from html import escape
from urllib.parse import quote

from simulator.feeds.documents import CONTENT_TYPES
from simulator.feeds.edition import Edition
from simulator.feeds.prose import paragraphs
from simulator.feeds.records import FeedEntry


def home_page(edition: Edition) -> str:
    """Links to its feed by a relative address, as many blogs do."""
    feed = edition.feed
    kind = CONTENT_TYPES[feed.format].partition(";")[0]
    links = "\n".join(
        f'<li><a href="{escape(edition.link(entry))}">{escape(entry.title)}</a></li>'
        for entry in edition.entries
    )
    head = f'<link rel="alternate" type="{kind}" title="{escape(feed.title)}" href="../{feed.name}">'
    return page(feed.language, feed.title, head, f"<h1>{escape(feed.title)}</h1>\n<ul>\n{links}\n</ul>")


def article_page(edition: Edition, entry: FeedEntry) -> str:
    feed = edition.feed
    text = "\n".join(f"<p>{part}</p>" for part in paragraphs(feed.language, entry.words, entry.path))
    body = f"""<nav><a href="{escape(edition.home)}">{escape(feed.title)}</a></nav>
<main><article>
<h1>{escape(entry.title)}</h1>
<p class="byline">{escape(entry.author)}</p>
{text}
</article></main>
<footer>Simulated, all of it.</footer>"""
    return page(feed.language, f"{entry.title} | {feed.title}", _article_head(edition, entry), body)


def _article_head(edition: Edition, entry: FeedEntry) -> str:
    own = f"{edition.base}/feeds{entry.path}"
    embed = f"{own}/oembed?url={quote(own, safe='')}"
    about = {
        "@context": "https://schema.org",
        "@type": "BlogPosting",
        "headline": entry.title,
        "datePublished": entry.published_at.isoformat(),
        "author": {"@type": "Person", "name": entry.author},
        "inLanguage": edition.feed.language,
    }
    return f"""<link rel="canonical" href="{escape(own)}">
<link rel="alternate" type="application/json+oembed" href="{escape(embed)}">
{open_graph(edition, entry, own, "article")}
<meta property="article:published_time" content="{entry.published_at.isoformat()}">
<script type="application/ld+json">{_in_script(about)}</script>"""


def _in_script(value: object) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(value).replace("</", "<\\/")


def open_graph(edition: Edition, entry: FeedEntry, address: str, kind: str) -> str:
    properties = {
        "og:type": kind,
        "og:url": address,
        "og:title": entry.title,
        "og:description": f"{entry.title}, as told by {entry.author}.",
        "og:image": edition.picture(entry),
        "og:site_name": "YouTube" if edition.feed.format == "youtube" else edition.feed.title,
    }
    return "\n".join(
        f'<meta property="{name}" content="{escape(value)}">' for name, value in properties.items()
    )


def embedding(edition: Edition, entry: FeedEntry, provider: str, kind: str) -> dict[str, object]:
    """The oEmbed answer for an entry."""
    return {
        "version": "1.0",
        "type": kind,
        "provider_name": provider,
        "title": entry.title,
        "author_name": edition.feed.title,
        "author_url": edition.home,
        "thumbnail_url": edition.picture(entry),
        "thumbnail_width": 480,
        "thumbnail_height": 360,
        "width": 480,
        "height": 270,
        "html": f'<iframe src="{escape(edition.link(entry))}" title="{escape(entry.title)}"></iframe>',
    }


def cover(entry: FeedEntry) -> str:
    title = escape(entry.title)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 360">
<rect width="480" height="360" fill="#dde"/><text x="20" y="180" font-size="24">{title}</text></svg>"""


def page(language: str, title: str, head: str, body: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="{escape(language)}">
<head>
<meta charset="utf-8">
<title>{escape(title)}</title>
{head}
</head>
<body>
{body}
</body>
</html>
"""
