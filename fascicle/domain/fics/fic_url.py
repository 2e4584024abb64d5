"""A fic's normal form (F1): all the addresses of one fic become one; addresses of other things are refused.

People paste what they have: a chapter, a download, a mirror, an address in angle brackets. An address that
leads elsewhere than it seems to (user names, ports, look-alike hosts) is refused before any request.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.ao3 import ARCHIVE_HOSTS
from fascicle.domain.fics.fic import FicKind, FicRef

OtherSites = Callable[[str], FicRef | None]

_LONGEST = 2048
_LONGEST_ID = 12
_INVISIBLE = "\u200b\u200e\u200f\u2060\ufeff"
_TRAILING = ",.;:!?'\"*`>]}|\u2026\u201d\u2019"
# Misspellings of https.
_WEB_SCHEME = re.compile(r"[htps]{3,7}:/+", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# The top level begins with a letter, so that no IP address matches, in whatever notation.
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]", re.ASCII)
_SLASHES = re.compile("/{2,}")
# Browsers resolve `..` before the request, encoded or not.
_STEPS_UP = re.compile(r"/(?:\.|%2e){2}(?:/|$)", re.IGNORECASE)
_ID = r"0*(0|[1-9][0-9]*)"


@dataclass(frozen=True)
class _Form:
    """A pattern of paths that name a fic, and the form of the fic's one address."""

    path: re.Pattern[str]
    address: str
    kind: FicKind = FicKind.WORK


@dataclass(frozen=True)
class _Site:
    name: str
    hosts: frozenset[str]
    forms: tuple[_Form, ...]
    looks_like: str
    """An example of a right address, for error messages."""
    near_misses: tuple[tuple[str, str], ...] = ()
    """Beginnings of paths that look right but are wrong, each with its error message."""


def _form(path: str, address: str, kind: FicKind = FicKind.WORK) -> _Form:
    return _Form(re.compile(path, re.ASCII), address, kind)


def _hosts(*names: str) -> frozenset[str]:
    return frozenset(f"{prefix}{name}" for name in names for prefix in ("", "www."))


def _story_site(name: str, host: str) -> _Site:
    """FanFiction.net and its sister, which are built alike."""
    return _Site(
        name,
        _hosts(host, f"m.{host}"),
        (_form(rf"/s/{_ID}(?:/.*)?", f"https://www.{host}/s/{{}}/1/"),),
        f"https://www.{host}/s/123/1/",
    )


def _forum(name: str, host: str) -> _Site:
    return _Site(
        name,
        _hosts(host),
        (_form(rf"/threads/(?:[^/]*\.)?{_ID}(?:/.*)?", f"https://{host}/threads/{{}}/"),),
        f"https://{host}/threads/123/",
        (
            (
                "/posts/",
                "That is a single post: its number says nothing of the thread. Give the thread's address.",
            ),
        ),
    )


_AO3 = _Site(
    "ao3",
    _hosts(
        *ARCHIVE_HOSTS,
        *("download.archiveofourown.org", "insecure.archiveofourown.org", "secure.archiveofourown.org"),
    ),
    (
        _form(rf"(?:/collections/[^/]+)?/works/{_ID}(?:/.*)?", "https://archiveofourown.org/works/{}"),
        _form(rf"/downloads/{_ID}/.+", "https://archiveofourown.org/works/{}"),
        _form(rf"/series/{_ID}(?:/.*)?", "https://archiveofourown.org/series/{}", FicKind.SERIES),
    ),
    "https://archiveofourown.org/works/123 or https://archiveofourown.org/series/123",
    (
        (
            "/chapters/",
            "That is a chapter's address without its work: a chapter's number is not its work's. "
            "Open it and copy the work's address.",
        ),
        (
            "/external_works/",
            "That is a bookmark of a work elsewhere. Give the address where the work itself is.",
        ),
        ("/users/", "That is a person's page, not a work or a series."),
    ),
)
_WATTPAD = _Site(
    "wattpad",
    _hosts("wattpad.com", "m.wattpad.com"),
    (
        _form(rf"/story/{_ID}(?:[-/].*)?", "https://www.wattpad.com/story/{}"),
        _form(rf"/{_ID}(?:[-/].*)?", "https://www.wattpad.com/{}", FicKind.NEEDS_LOOKUP),
    ),
    "https://www.wattpad.com/story/123",
)
_ROYALROAD = _Site(
    "royalroad",
    _hosts("royalroad.com", "royalroadl.com"),
    (_form(rf"/fiction/{_ID}(?:/.*)?", "https://www.royalroad.com/fiction/{}"),),
    "https://www.royalroad.com/fiction/123",
    (("/fiction/chapter/", "That is a chapter's address without its fiction. Give the fiction's address."),),
)
_SITES = {
    host: site
    for site in (
        _AO3,
        _WATTPAD,
        _ROYALROAD,
        _story_site("ffn", "fanfiction.net"),
        _story_site("fictionpress", "fictionpress.com"),
        _forum("spacebattles", "forums.spacebattles.com"),
        _forum("sufficientvelocity", "forums.sufficientvelocity.com"),
    )
    for host in site.hosts
}


def normal_form(text: str, others: OtherSites | None = None) -> FicRef:
    """The fic that `text` means. `others` resolves hosts unknown here. A UsageError says what is wrong."""
    parts = _split(_tidied(text))
    host = _checked_host(parts)
    if site := _SITES.get(host):
        return _recognised(site, _SLASHES.sub("/", parts.path))
    query = f"?{parts.query}" if parts.query else ""
    if others and (ref := others(f"https://{host}{parts.path}{query}")):
        return _known_by_its_own_name(ref)
    raise UsageError("unknown_site", f"{host} is not a site whose fics can be read here.")


def _known_by_its_own_name(ref: FicRef) -> FicRef:
    """An address of one of the sites above goes through that site's own form, and so its gate and reader."""
    parts = urlsplit(ref.url)
    site = _SITES.get(parts.netloc)
    return ref if site is None else _recognised(site, parts.path)


def _tidied(text: str) -> str:
    """The address without the characters that people and programs put around it."""
    if len(text) > 2 * _LONGEST:
        raise UsageError("invalid_url", f"The address is longer than {_LONGEST} characters.")
    bare = text.strip().strip(_INVISIBLE).lstrip("<(['\"")
    while bare and (bare[-1] in _TRAILING or (bare[-1] == ")" and "(" not in bare)):
        bare = bare[:-1]
    if not bare or len(bare) > _LONGEST:
        raise UsageError("invalid_url", f"The address is empty or longer than {_LONGEST} characters.")
    if "\\" in bare or any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in bare):
        raise UsageError("invalid_url", "The address contains blanks, control characters or backslashes.")
    return bare


def _split(bare: str) -> SplitResult:
    if scheme := _WEB_SCHEME.match(bare):
        bare = bare[scheme.end() :]
    elif _ANY_SCHEME.match(bare):
        raise UsageError("invalid_url", "That is not a web address: it should begin with https://.")
    try:
        return urlsplit(f"https://{bare.lstrip('/')}")
    except ValueError:
        raise UsageError("invalid_url", "That is not a web address: its site's name is malformed.") from None


def _checked_host(parts: SplitResult) -> str:
    if "@" in parts.netloc:
        raise UsageError(
            "invalid_url", "The address carries a user name, so that it leads elsewhere than it seems to."
        )
    if ":" in parts.netloc:
        raise UsageError(
            "invalid_url", "The address names a port or a bare IP address; fic sites need neither."
        )
    host = parts.netloc.lower().removesuffix(".")
    if not host.isascii():
        raise UsageError(
            "invalid_url", "The site's name contains letters that only look like Latin ones; type it anew."
        )
    if not _HOST.fullmatch(host):
        raise UsageError(
            "invalid_url", f"{host or 'That'} is not a site's name, such as archiveofourown.org."
        )
    if "://" in parts.path:
        raise UsageError("invalid_url", "The address contains a second one. Give only the fic's own.")
    if _STEPS_UP.search(parts.path):
        raise UsageError(
            "invalid_url", "The address has `..` in it, so that it leads elsewhere than it seems to."
        )
    return host


def _recognised(site: _Site, path: str) -> FicRef:
    for form in site.forms:
        if match := form.path.fullmatch(path):
            return _ref(site, form, match[1])
    for beginning, reason in site.near_misses:
        if path.startswith(beginning):
            raise UsageError("not_a_fic", reason)
    raise UsageError(
        "not_a_fic", f"That is a page of the site, but not a fic. A fic looks like {site.looks_like}."
    )


def _ref(site: _Site, form: _Form, number: str) -> FicRef:
    if len(number) > _LONGEST_ID or number == "0":
        raise UsageError("invalid_url", "No fic has such a number. Check the address.")
    return FicRef(site=site.name, kind=form.kind, id=number, url=form.address.format(number))
