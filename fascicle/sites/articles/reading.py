"""Makes an article from a page or from Firecrawl's Markdown; or an error that says what it is instead."""

from collections.abc import Mapping

from fascicle.domain.summaries.article import Article
from fascicle.domain.summaries.request_rule import MIN_WORDS
from fascicle.sites.articles.markdown import article_of_markdown
from fascicle.sites.articles.page import article_of_page


def read_article(
    body: bytes,
    *,
    url: str,
    content_type: str | None = None,
    min_words: int = MIN_WORDS,
    said: Mapping[str, str] | None = None,
) -> Article:
    """`said`: Firecrawl's metadata of the page; then the body is Markdown. Blocks the thread."""
    if said is not None:
        return article_of_markdown(body.decode(errors="replace"), url=url, said=said, min_words=min_words)
    return article_of_page(body, url=url, content_type=content_type, min_words=min_words)
