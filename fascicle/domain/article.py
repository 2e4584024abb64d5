"""An article: the text of a page without the rest of it, and what tells one from other pages (R4)."""

import re
from urllib.parse import urlsplit

from pydantic import BaseModel

from fascicle.domain.article_words import CHALLENGES, ERRORS, LISTINGS, LOGINS, Signs
from fascicle.domain.errors import PermanentError
from fascicle.domain.instants import Instant
from fascicle.domain.item_words import count_words
from fascicle.domain.request_rule import MIN_WORDS
from fascicle.domain.urls import place

# Pages that are no articles say little else; articles *about* such pages say more.
_WORDS_OF_A_NOTICE = 150
_WORDS_OF_A_TEASER = 250
_WORDS_OF_A_SHELL = 30
# Not colons: "Access denied: how a town lost its beach".
_TITLE_PARTS = re.compile(r"\s+[–—·•»«-]+\s+|\s*[|｜]\s*")
_HOME = re.compile(r"/?(?:index\.\w{1,5}|home|[a-z]{2}(?:-[a-z]{2})?)?/?", re.IGNORECASE)
_SEARCH = re.compile(r"/(?:search|suche|recherche|find)\b", re.IGNORECASE)


class Article(BaseModel):
    url: str
    """Where it was in the end."""
    title: str
    text: str
    """Plain, a paragraph a line."""
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
    """What was taken for an article, with what its page looked like."""

    url: str
    title: str = ""
    text: str = ""
    visible: str = ""
    """The beginning of what the whole page shows; the text's alone where no page is at hand."""
    visible_words: int = 0
    visible_links: int = 0
    """Of these, those in links."""
    linked_words: int = 0
    """Words of the text in paragraphs that are nothing but links."""
    headlines: int = 0
    """Headlines that lead elsewhere, with parts of the text below them."""
    is_marked: bool = False
    """The page itself says that it is an article."""
    has_scripts: bool = False
    asks_for_password: bool = False
    is_restricted: bool = False
    """The page itself says that not everybody may read it."""
    is_challenge: bool = False
    """It has the scripts of a service that tells browsers from others."""

    @property
    def length(self) -> int:
        return length_in_words(self.text)


def length_in_words(text: str) -> int:
    """How much there is to read. Two Chinese characters carry about as much as a word does."""
    words = count_words(text)
    return words.spaced + words.cjk // 2


def check_article(candidate: Candidate, *, min_words: int = MIN_WORDS) -> None:
    """Raise what it is instead of an article, with what to do about it."""
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
    """A form to log in at, or the beginning of what subscribers may read."""
    if _is_notice(candidate, LOGINS):
        return True
    if candidate.asks_for_password and candidate.length < _WORDS_OF_A_SHELL * 2 and not candidate.is_marked:
        return True
    if candidate.length >= _WORDS_OF_A_TEASER:
        return False
    return candidate.is_restricted or bool(LOGINS.ending.search(candidate.text[-400:]))


def not_an_article(candidate: Candidate) -> str | None:
    """Why it is none: a listing, a home page, a search's results, a program without text."""
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
    # Nothing was taken for a text, and what there is leads elsewhere.
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
    """By its title, or by how it begins. Whatever says more than a notice is an article about it."""
    shown = candidate.text or candidate.visible
    is_titled = _titled(candidate, signs)
    if length_in_words(shown) >= _WORDS_OF_A_NOTICE:
        # Below the notice there may be what else the site has.
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
