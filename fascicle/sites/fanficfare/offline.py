"""FanFicFare's adapters on given pages: a missing page is requested from the caller, never fetched."""

import logging
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

# Wattpad's list of categories would cost a request; on an error the adapter uses its built-in list.
_DISPENSABLE = frozenset({"https://www.wattpad.com/api/v3/categories"})
# Parameters that adapters append to confirm an adult reader; a browser's address may lack them.
_CONSENT = frozenset({"view_adult", "ageconsent", "warning", "adult", "skip_warning"})
_LOGIN = frozenset({"login", "login.php", "login_check_static", "signin", "sign_in", "token_dispenser.json"})
_KEPT_IN_ORDER = ("ships", "category", "characters", "genre", "warnings", "freeformtags", "fandoms")
_SETTINGS = "\n".join(
    [
        "[overrides]",
        # As everywhere in Fascicle, the submitter is responsible for reading the work.
        "is_adult:true",
        "sort_ships:false",
        "include_images:false",
        "never_make_cover:true",
        "keep_summary_html:true",
        "check_next_chapter:false",
        "meta_from_last_chapter:false",
        *(f"keep_in_order_{name}:true" for name in _KEPT_IN_ORDER),
    ]
)


class PageNeeded(BaseException):
    """It is no Exception, because adapters catch those and continue without the page."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class FormNeeded(PageNeeded):
    """The adapter wants to send a form, which is not supported."""


class LoginNeeded(PageNeeded):
    """The adapter is about to log in, and there is no account to log in with."""


class PagesInHand:
    """Answers an adapter's requests; `needed` keeps the first request that it cannot answer.

    It is kept because some adapters catch even a BaseException and continue with half a work.
    """

    def __init__(self, pages: Mapping[str, bytes], saved: bytes | None = None) -> None:
        self._pages = pages
        self._saved = saved
        self._saved_as: str | None = None
        self.needed: PageNeeded | None = None

    def request(self, method: str, url: str, headers: Any = None, parameters: Any = None) -> Any:
        from fanficfare.exceptions import HTTPErrorFFF
        from fanficfare.fetchers.base_fetcher import FetcherResponse

        if url in _DISPENSABLE:
            raise HTTPErrorFFF(url, 503, "not asked")
        body = self._body_of(url) if method == "GET" else None
        if body is None:
            raise self._note(_needed(method, url, parameters))
        return FetcherResponse(body, redirecturl=url)

    def _body_of(self, url: str) -> bytes | None:
        if self._saved is None:
            return self._pages.get(url)
        if self._saved_as is None:
            self._saved_as = url
        return self._saved if same_page(url, self._saved_as) else None

    def _note(self, needed: PageNeeded) -> PageNeeded:
        self.needed = self.needed or needed
        return needed


def _needed(method: str, url: str, parameters: Any) -> PageNeeded:
    parts = urlsplit(url)
    is_login = _LOGIN.intersection(parts.path.lower().split("/")) or "action=login" in parts.query.lower()
    if is_login or any("passw" in str(name).lower() for name in parameters or ()):
        return LoginNeeded(url)
    return PageNeeded(url) if method == "GET" else FormNeeded(url)


def offline_adapter(url: str, pages: PagesInHand) -> Any:
    """The adapter for an address. Raises FanFicFare's UnknownSite or InvalidStoryURL."""
    adapters = silent_adapters()
    from fanficfare.configurable import Configuration
    from fanficfare.fetchers.base_fetcher import Fetcher

    configuration = Configuration(adapters.getConfigSectionsFor(url), "EPUB")
    configuration.read_string(_defaults())
    configuration.read_string(_SETTINGS)
    fetcher = Fetcher(configuration.getConfig, configuration.getConfigList)
    fetcher.request = pages.request
    # FanFicFare's own fetcher opens the network for a missing page, whatever its cache settings are.
    configuration.get_fetcher = lambda make_new=False: fetcher
    return adapters.getAdapter(configuration, url)


def silent_adapters() -> Any:
    """FanFicFare's registry of sites, without its log to stderr. It takes half a second to load."""
    from fanficfare import adapters

    logger = logging.getLogger("fanficfare")
    logger.handlers.clear()
    logger.disabled = True
    logger.setLevel(logging.CRITICAL + 1)
    logger.propagate = False
    return adapters


def same_page(one: str, other: str) -> bool:
    return _spelling(one) == _spelling(other)


def _spelling(url: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """An address without the parts that differ between browsers and adapters."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.").removeprefix("m.")
    query = sorted((name, value) for name, value in parse_qsl(parts.query) if name.lower() not in _CONSENT)
    return host, parts.path.rstrip("/"), tuple(query)


@cache
def _defaults() -> str:
    return files("fanficfare").joinpath("defaults.ini").read_text(encoding="utf-8")
