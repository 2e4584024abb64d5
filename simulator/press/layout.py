"""The page around an article on a website, which an extractor must leave out."""

import json
from html import escape

from simulator.feeds.pages import page
from simulator.press.records import Article

SECTIONS = ("Home", "Politics", "Business", "Culture", "Sport", "Weather", "Podcasts")
RELATED = (
    "Ten walks you can take before breakfast",
    "Why the price of umbrellas keeps rising",
    "Readers' photographs of the week",
    "Quiz: how well do you know your lighthouses?",
)
COMMENTS = (
    ("lampfan87", "First! Great read, as always."),
    ("grumpy_gull", "They should have asked the people who live there."),
    ("Anna K.", "Does anybody know whether the café is still open on Mondays?"),
)


def printed(article: Article, address: str, main: str) -> str:
    """The whole page around its main part."""
    body = "\n".join((_banner(), _header(article), main, _sidebar(), _comments(), _footer(article)))
    return page(article.language, f"{article.title} | {article.site_name}", _head(article, address), body)


def _head(article: Article, address: str) -> str:
    about = {
        "@context": "https://schema.org",
        "@type": "NewsArticle" if article.kind != "listing" else "CollectionPage",
        "headline": article.title,
        "datePublished": article.published_at.isoformat(),
        "author": {"@type": "Person", "name": article.author},
        "publisher": {"@type": "Organization", "name": article.site_name},
        "inLanguage": article.language,
    }
    properties = {
        "og:type": "article" if article.kind != "listing" else "website",
        "og:url": address,
        "og:title": article.title,
        "og:site_name": article.site_name,
        "article:published_time": article.published_at.isoformat(),
        "article:author": article.author,
    }
    tags = [f'<meta property="{name}" content="{escape(value)}">' for name, value in properties.items()]
    script = json.dumps(about).replace("</", "<\\/")
    return f"""<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="author" content="{escape(article.author)}">
<meta name="description" content="{escape(article.title)}, reported by {escape(article.author)}.">
<link rel="canonical" href="{escape(address)}">
{chr(10).join(tags)}
<script type="application/ld+json">{script}</script>
<style>body {{ font-family: serif; margin: 0 }} .cookie-banner {{ position: fixed; bottom: 0 }}</style>"""


def _banner() -> str:
    return """<div id="cookie-consent" class="cookie-banner" role="dialog" aria-label="Cookies">
<p>We and our 214 partners use cookies to personalise content and advertisements.</p>
<button>Accept all</button> <button>Manage preferences</button>
</div>"""


def _header(article: Article) -> str:
    links = "\n".join(f'<li><a href="/press/{name.lower()}">{name}</a></li>' for name in SECTIONS)
    return f"""<header class="site-header"><a class="logo" href="/press/">{escape(article.site_name)}</a>
<nav class="main-menu"><ul>
{links}
<li><a href="/press/login">Sign in</a></li><li><a href="/press/subscribe">Subscribe</a></li>
</ul></nav></header>"""


def _sidebar() -> str:
    links = "\n".join(f'<li><a href="/press/related/{at}">{name}</a></li>' for at, name in enumerate(RELATED))
    return f"""<aside class="sidebar">
<section class="related"><h2>Most read</h2><ul>
{links}
</ul></section>
<section class="newsletter"><h2>Our newsletter</h2>
<form action="/press/newsletter"><label>Get the morning briefing in your inbox
<input type="email" name="email"></label><button>Sign up</button></form></section>
<div class="advertisement">Advertisement</div>
</aside>"""


def _comments() -> str:
    entries = "\n".join(
        f'<li class="comment"><b>{name}</b><p>{text}</p><a href="#">Reply</a></li>' for name, text in COMMENTS
    )
    return f"""<section id="comments" class="comments"><h2>{len(COMMENTS)} comments</h2><ol>
{entries}
</ol></section>"""


def _footer(article: Article) -> str:
    return f"""<footer class="site-footer"><ul>
<li><a href="/press/imprint">Imprint</a></li><li><a href="/press/privacy">Privacy</a></li>
<li><a href="/press/terms">Terms of use</a></li><li><a href="/press/contact">Contact</a></li>
</ul><p>© {article.published_at.year} {escape(article.site_name)}. All rights reserved.</p></footer>"""
