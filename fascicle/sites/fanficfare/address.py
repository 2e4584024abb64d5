"""Addresses of works on the sites that FanFicFare knows."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.fic import FicKind, FicRef
from fascicle.domain.urls import parse_http_url
from fascicle.sites.fanficfare.offline import PageNeeded, PagesInHand, offline_adapter

# Domains, not IP addresses: no accepted host ends in a digit.
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", re.ASCII)
_FANFICFARES_OWN_TESTS = re.compile(r"(?:www\.)?test\d\.com")
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", re.ASCII)


def normal_form_of(url: str) -> FicRef | None:
    """The work of an address on one of FanFicFare's sites; None: not such an address. No page is fetched."""
    try:
        parts = parse_http_url(url)
    except UsageError:
        return None
    host = (parts.hostname or "").lower()
    if parts.netloc.lower() != host or not _HOST.fullmatch(host) or _FANFICFARES_OWN_TESTS.fullmatch(host):
        return None
    adapter = _adapter_for(url.strip())
    return None if adapter is None else _ref(adapter)


def rebased(url: str, bases: Mapping[str, str]) -> str:
    """The address on another server, if `bases` names one for its origin (tests, mirrors)."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    base = bases.get(origin)
    return url if base is None else base.rstrip("/") + url.removeprefix(origin)


def _adapter_for(url: str) -> Any:
    """The adapter; None also for an address whose work only the site itself knows."""
    try:
        return offline_adapter(url, PagesInHand({}))
    except PageNeeded:
        return None
    except Exception:
        # Adapters split addresses by position and raise any exception for an address of another form.
        return None


def _ref(adapter: Any) -> FicRef | None:
    address = str(adapter.url)
    if urlsplit(address).scheme not in ("http", "https"):
        return None
    site = _bare(str(adapter.getSiteDomain()))
    return FicRef(site=site, kind=FicKind.WORK, id=_id(adapter, site), url=address)


def _id(adapter: Any, site: str) -> str:
    """FanFicFare's id if it is a number that is unique on the site; else an id made from the address.

    Other ids are words, which two authors may use, or numbers of one of several archives, or known only
    from the page.
    """
    story_id = str(adapter.story.getMetadata("storyId") or "")
    is_whole_site = site == _bare(urlsplit(adapter.url).netloc) == _bare(str(adapter.getConfigSection()))
    if is_whole_site and story_id.isascii() and story_id.isdecimal():
        return story_id
    # The section's address leaves out titles, which may change.
    place = str(adapter.get_section_url(adapter.url)).partition("://")[2]
    digest = sha256(_bare(place).encode()).hexdigest()[:12]
    return f"{story_id}-{digest}" if _SAFE_ID.fullmatch(story_id) else f"h{digest}"


def _bare(name: str) -> str:
    return name.removeprefix("www.")
