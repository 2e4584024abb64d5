"""An article: the main text of a page, and the signs that tell an article from other pages (R4)."""

import re
from urllib.parse import urlsplit

from pydantic import BaseModel

from fascicle.domain.errors import PermanentError
from fascicle.domain.feeds.item_words import count_words
from fascicle.domain.instants import Instant
from fascicle.domain.summaries.article_words import CHALLENGES, ERRORS, LISTINGS, LOGINS, Signs
from fascicle.domain.summaries.request_rule import MIN_WORDS
from fascicle.domain.urls import place

# Pages that are no articles have fewer words; articles *about* such pages have more.
_WORDS_OF_A_NOTICE = 150
_WORDS_OF_A_TEASER = 250
_WORDS_OF_A_SHELL = 30
# Not colons: "Access denied: how a town lost its beach".
_TITLE_PARTS = re.compile(r"\s+[–—·•»«-]+\s+|\s*[|｜]\s*")
_HOME = re.compile(r"/?(?:index\.\w{1,5}|home|[a-z]{2}(?:-[a-z]{2})?)?/?", re.IGNORECASE)
_SEARCH = re.compile(r"/(?:search|suche|recherche|find)\b", re.IGNORECASE)


class Article(BaseModel):
    url: str
    """The address after redirects."""
    title: str
    text: str
    """Plain text, one paragraph per line."""
    language: str | None = None
    """ISO 639-1."""
    author: str | None = None
    site_name: str | None = None
    published_at: Instant = None
    extractor: str = "trafilatura"

    @property
    def words(self) -> int:
        return count_words(self.text).total


class Candidate(BaseModel):
    """A text that may be an article, with facts about its page."""

    url: str
    title: str = ""
    text: str = ""
    visible: str = ""
    """The beginning of the whole page's visible text; of `text` alone if there is no page."""
    visible_words: int = 0
    visible_links: int = 0
    """The visible words that are in links."""
    linked_words: int = 0
    """Words of the text in paragraphs that consist of links only."""
    headlines: int = 0
    """Headlines that link to other pages, with parts of the text below them."""
    is_marked: bool = False
    """The page itself says that it is an article."""
    has_scripts: bool = False
    asks_for_password: bool = False
    is_restricted: bool = False
    """The page itself says that not everybody may read it."""
    is_challenge: bool = False
    """It has the scripts of a service that checks whether the client is a browser."""

    @property
    def length(self) -> int:
        return length_in_words(self.text)


def length_in_words(text: str) -> int:
    """The length in words. Two Chinese characters count as one word."""
    words = count_words(text)
    return words.spaced + words.cjk // 2


def check_article(candidate: Candidate, *, min_words: int = MIN_WORDS) -> None:
    """Raise a PermanentError that says what it is instead of an article, and what to do about it."""
    where = place(candidate.url)[:200]
    if challenge(candidate):
        raise PermanentError(
            "challenge",
            f"{where} wants to see a browser before it shows its page. Save the page from a browser, or set "
            "FASCICLE_FIRECRAWL_URL.",
        )
    if error_page(candidate):
        raise PermanentError(
            "error_page",
            f"{where} shows an error message instead of an article{_named(candidate)}. "
            "Check the address in a browser.",
        )
    if login_wall(candidate):
        raise PermanentError(
            "login_wall",
            f"{where} shows its article only to those who log in or pay. Save the page from a browser.",
        )
    if reason := not_an_article(candidate):
        raise PermanentError("not_an_article", f"{where} {reason}")
    if too_short(candidate, min_words):
        raise PermanentError(
            "too_short",
            f"{where} has a text of {candidate.length} words; {min_words} are the least "
            "(FASCICLE_ARTICLE_MIN_WORDS). A page that needs a browser needs FASCICLE_FIRECRAWL_URL.",
        )


def too_short(candidate: Candidate, min_words: int = MIN_WORDS) -> bool:
    return candidate.length < min_words


def error_page(candidate: Candidate) -> bool:
    """A page that says "not found", "access denied", "maintenance", though its status was 200."""
    return _is_notice(candidate, ERRORS)


def challenge(candidate: Candidate) -> bool:
    """A page that checks whether there is a browser."""
    if candidate.is_challenge and candidate.length < _WORDS_OF_A_SHELL:
        return True
    return _is_notice(candidate, CHALLENGES)


def login_wall(candidate: Candidate) -> bool:
    """A login form, or the beginning of an article for subscribers."""
    if _is_notice(candidate, LOGINS):
        return True
    if candidate.asks_for_password and candidate.length < _WORDS_OF_A_SHELL * 2 and not candidate.is_marked:
        return True
    if candidate.length >= _WORDS_OF_A_TEASER:
        return False
    return candidate.is_restricted or bool(LOGINS.ending.search(candidate.text[-400:]))


def not_an_article(candidate: Candidate) -> str | None:
    """The reason why it is no article: a listing, a home page, search results, a program without text."""
    length = candidate.length
    if candidate.has_scripts and max(length, candidate.visible_words) < _WORDS_OF_A_SHELL:
        return (
            "shows no text without a browser that runs its scripts. Set FASCICLE_FIRECRAWL_URL, or save the "
            "page from a browser."
        )
    if _is_listing(candidate, length):
        return "lists other pages and is no article itself. Give the address of one of them."
    return None


def _is_listing(candidate: Candidate, length: int) -> bool:
    if length and candidate.linked_words > length * 0.5:
        return True
    # The page has no main text, and most of its visible words are links.
    is_all_links = candidate.visible_links > candidate.visible_words * 0.7
    if length < _WORDS_OF_A_SHELL and candidate.visible_words >= _WORDS_OF_A_NOTICE and is_all_links:
        return True
    teasers = candidate.headlines >= 4 and length < candidate.headlines * 80
    if teasers and not candidate.is_marked:
        return True
    few_links = candidate.headlines < 2 and candidate.linked_words <= length * 0.2
    if candidate.is_marked or few_links:
        return False
    parts = urlsplit(candidate.url)
    is_search = bool(_SEARCH.search(parts.path)) or _titled(candidate, LISTINGS)
    return is_search or (_HOME.fullmatch(parts.path) is not None and not parts.query)


def _is_notice(candidate: Candidate, signs: Signs) -> bool:
    """Judged by its title or its beginning. A text longer than a notice is an article about it."""
    shown = candidate.text or candidate.visible
    is_titled = _titled(candidate, signs)
    if length_in_words(shown) >= _WORDS_OF_A_NOTICE:
        # Other contents of the site may follow below the notice.
        return is_titled and _is_padded(candidate)
    if is_titled:
        return True
    lines = [line.strip(" .!…。") for line in shown.splitlines()[:3]]
    if any(signs.title.fullmatch(line) for line in lines if line):
        return True
    return length_in_words(shown) < _WORDS_OF_A_NOTICE // 3 and bool(signs.text.search(shown[:600]))


def _is_padded(candidate: Candidate) -> bool:
    return candidate.headlines >= 2 or candidate.linked_words > candidate.length * 0.3


def _titled(candidate: Candidate, signs: Signs) -> bool:
    parts = (part.strip(" .!…。") for part in _TITLE_PARTS.split(candidate.title))
    return any(signs.title.fullmatch(part) for part in (candidate.title.strip(), *parts) if part)


def _named(candidate: Candidate) -> str:
    return f" (“{candidate.title[:100]}”)" if candidate.title else ""
