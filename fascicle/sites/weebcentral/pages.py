"""Reads WeebCentral's pages in a parsing process. A series' whole list is one fragment, newest first."""

import re
from datetime import datetime
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from fascicle.domain.errors import RetryableError
from fascicle.domain.series.chapter import LatestEntry, LatestPage, ListingPage, Upload
from fascicle.sites import fields
from fascicle.sites.labels import label_number, label_title
from fascicle.sites.markup import tree_of
from fascicle.sites.weebcentral.addresses import CHAPTER_PATH, PUBLIC_URL, SERIES_PATH

# Everything is in English, so there is no filter by language.
LANGUAGE = "en"
_PATH_ON_SITE = re.compile(r"/(?:series|chapters)/.*")
_OFFICIAL_BADGE = 'img[src*="badge-official"]'


def series_title(body: bytes, *, where: str, status: int) -> str:
    heading = tree_of(body, where).css_first("section h1")
    title = fields.text(heading.text()) if heading else None
    if title is None:
        raise _unexpected(where, status, "no title in it")
    return title


def chapter_list(body: bytes, *, where: str, status: int) -> ListingPage:
    fragment = tree_of(body, where)
    links = fragment.css('a[href*="/chapters/"]')
    uploads = [upload for link in links if (upload := _upload(link)) is not None]
    if not uploads and (links or not _is_empty_list(fragment)):
        raise _unexpected(where, status, "no chapters in it")
    return ListingPage(uploads, len(links), len(links), None)


def latest_updates(body: bytes, *, where: str, status: int, number: int) -> LatestPage:
    cards = tree_of(body, where).css("article")
    entries = [entry for card in cards if (entry := _latest_entry(card)) is not None]
    if not entries and (cards or number == 1):
        raise _unexpected(where, status, "no updates in it")
    return LatestPage(entries, str(number + 1) if entries else None, len(cards))


def _unexpected(where: str, status: int, what: str) -> RetryableError:
    return RetryableError("bad_answer", f"{where} answered oddly: {what}.", http_status=status)


def _is_empty_list(fragment: LexborHTMLParser) -> bool:
    """Is it the list's footer without any chapter's checkbox? Other pages without chapters are no list."""
    return bool(fragment.css_matches('a[href="#top"]')) and not fragment.css_matches("input[name=chapter_id]")


def _upload(link: LexborNode) -> Upload | None:
    match = CHAPTER_PATH.fullmatch(_path(link))
    if match is None:
        return None
    chapter_id = match[1].upper()
    label_node = link.css_first("span.flex > span")
    label = fields.text(label_node.text()) if label_node else None
    return Upload(
        upload_id=chapter_id,
        number=label_number(label),
        title=label_title(label),
        language=LANGUAGE,
        group="Official" if link.css_first(_OFFICIAL_BADGE) else None,
        url=f"{PUBLIC_URL}/chapters/{chapter_id}",
        published_at=_time_in(link),
    )


def _latest_entry(card: LexborNode) -> LatestEntry | None:
    """A card links to the series and to its chapter, in that order."""
    paths = [_path(link) for link in card.css("a[href]")]
    series = next((m[1] for path in paths if (m := SERIES_PATH.fullmatch(path))), None)
    chapter = next((m[1] for path in paths if (m := CHAPTER_PATH.fullmatch(path))), None)
    if series is None or chapter is None:
        return None
    return LatestEntry(series.upper(), chapter.upper(), at=_time_in(card), language=LANGUAGE)


def _path(link: LexborNode) -> str:
    """A link's path on the site itself; links are relative or absolute, depending on the page."""
    try:
        path = urlsplit(link.attributes.get("href") or "").path
    except ValueError:
        return ""
    found = _PATH_ON_SITE.search(path)
    return found[0] if found else ""


def _time_in(node: LexborNode) -> datetime | None:
    stamp = node.css_first("time[datetime]")
    return fields.time(stamp.attributes.get("datetime")) if stamp else None
