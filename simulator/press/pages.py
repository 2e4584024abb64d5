"""The pages of the press: each kind has its own main part in the same layout."""

from html import escape

from simulator.feeds.pages import page
from simulator.press.layout import RELATED, SECTIONS, printed
from simulator.press.records import Article

LISTED = 40
NOT_FOUND_TITLE = "Page not found"
NOT_FOUND_TEXT = "Sorry, the page you are looking for does not exist or has been moved."
LOGIN_TEXT = "Log in to continue reading this article."
ERROR_TEXTS = {
    403: "Access denied: you do not have permission to view this page.",
    404: NOT_FOUND_TEXT,
    410: "This page has been removed for good.",
    429: "Too many requests. Please slow down.",
    503: "We are down for maintenance and will be back soon.",
}


def article_page(article: Article, address: str) -> str:
    return printed(article, address, _story(article, article.body))


def login_page(article: Article, address: str) -> str:
    """The first words of the article, then a login form."""
    wall = f"""<div class="paywall"><h2>{LOGIN_TEXT}</h2>
<form method="post" action="/press/login"><label>Email <input type="email" name="email"></label>
<label>Password <input type="password" name="password"></label><button>Log in</button></form>
<p>No account yet? <a href="/press/subscribe">Subscribe now</a>.</p></div>"""
    return printed(article, address, _story(article, [teaser(article)], wall))


def teaser(article: Article) -> str:
    return " ".join(article.body[0].split()[:20]) + " …"


def listing_page(article: Article, address: str) -> str:
    links = "\n".join(
        f'<li><a href="/press/related/{at}">{escape(name)}</a></li>' for at, name in enumerate(listed())
    )
    main = f'<main><h1>{escape(article.title)}</h1>\n<ul class="teasers">\n{links}\n</ul></main>'
    return printed(article, address, main)


def listed() -> list[str]:
    return [
        f"{SECTIONS[at % len(SECTIONS)]}: {RELATED[at % len(RELATED)]}, part {at + 1}" for at in range(LISTED)
    ]


def soft_404_page(article: Article, address: str) -> str:
    back = '<p><a href="/press/">Back to the home page</a></p>'
    body = f"<h1>{NOT_FOUND_TITLE}</h1>\n<p>{NOT_FOUND_TEXT}</p>\n{back}"
    return page(article.language, NOT_FOUND_TITLE, "", f"<main>{body}</main>")


def error_page(status: int) -> str:
    title = NOT_FOUND_TITLE if status == 404 else f"Error {status}"
    return page("en", title, "", f"<main><h1>{title}</h1>\n<p>{error_text(status)}</p></main>")


def error_text(status: int) -> str:
    return ERROR_TEXTS.get(status, f"Something went wrong ({status}).")


def _story(article: Article, told: list[str], after: str = "") -> str:
    text = "\n".join(f"<p>{escape(part)}</p>" for part in told)
    day = article.published_at
    return f"""<main><article class="story">
<h1>{escape(article.title)}</h1>
<p class="byline">By <a rel="author" href="/press/authors">{escape(article.author)}</a>
<time datetime="{day.isoformat()}">{day:%Y-%m-%d}</time></p>
<div class="article-body">
{text}
</div>
{after}
<div class="share"><a href="#">Share</a> <a href="#">Tweet</a> <a href="#">Print</a></div>
</article></main>"""
