"""WeebCentral, from its HTML. A series' whole list is one fragment, newest first."""

import re
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from fascicle.domain.chapter import LatestEntry, LatestPage, ListingPage, SeriesInfo, Upload
from fascicle.domain.errors import RetryableError
from fascicle.runtime.answers import Answer
from fascicle.runtime.http import HttpClient
from fascicle.sites import fields
from fascicle.sites.addresses import path_on_site, site_gate
from fascicle.sites.labels import label_number, label_title
from fascicle.sites.markup import tree_of

NAME = "weebcentral"
PUBLIC_URL = "https://weebcentral.com"
# Everything is in English, so no language is ever filtered out.
LANGUAGE = "en"

_ULID = r"[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}"
_SERIES_PATH = re.compile(rf"/series/({_ULID})(?:/[^/]*)?/?", re.ASCII)
_PATH_ON_SITE = re.compile(r"/(?:series|chapters)/.*")
_CHAPTER_PATH = re.compile(rf"/chapters/({_ULID})(?:/.*)?", re.ASCII)
_OFFICIAL_BADGE = 'img[src*="badge-official"]'


class WeebCentral:
    name = NAME

    def __init__(self, http: HttpClient, *, base_url: str, interval_seconds: float) -> None:
        self._http = http
        self._base = base_url
        self.gate = site_gate(NAME, interval_seconds)

    def recognise(self, url: str) -> str | None:
        path = path_on_site(url, self._base, "weebcentral.com")
        match = _SERIES_PATH.fullmatch(path or "")
        return match[1].upper() if match else None

    async def series(self, key: str) -> SeriesInfo:
        answer = await self._http.get(f"{self._base}/series/{key}", self.gate)
        heading = tree_of(answer.body, answer.place).css_first("section h1")
        title = fields.text(heading.text()) if heading else None
        if title is None:
            raise _unexpected(answer, "no title in it")
        return SeriesInfo(site_key=key, title=title, url=f"{PUBLIC_URL}/series/{key}")

    async def newest(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        answer = await self._http.get(f"{self._base}/series/{key}/full-chapter-list", self.gate)
        fragment = tree_of(answer.body, answer.place)
        links = fragment.css('a[href*="/chapters/"]')
        uploads = [upload for link in links if (upload := _upload(link)) is not None]
        if not uploads and (links or not _is_empty_list(fragment)):
            raise _unexpected(answer, "no chapters in it")
        return ListingPage(uploads, len(links), len(links), None)

    async def everything(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        return await self.newest(key, languages, cursor)

    async def latest(self, languages: Sequence[str], cursor: str | None) -> LatestPage:
        number = int(cursor or 1)
        answer = await self._http.get(f"{self._base}/latest-updates/{number}", self.gate)
        cards = tree_of(answer.body, answer.place).css("article")
        entries = [entry for card in cards if (entry := _latest_entry(card)) is not None]
        if not entries and (cards or number == 1):
            raise _unexpected(answer, "no updates in it")
        return LatestPage(entries, str(number + 1) if entries else None, len(cards))


def _unexpected(answer: Answer, what: str) -> RetryableError:
    return RetryableError("bad_answer", f"{answer.place} answered oddly: {what}.", http_status=answer.status)


def _is_empty_list(fragment: LexborHTMLParser) -> bool:
    """The list's foot without a chapter's checkbox; any other page without chapters is no list."""
    return bool(fragment.css_matches('a[href="#top"]')) and not fragment.css_matches("input[name=chapter_id]")


def _upload(link: LexborNode) -> Upload | None:
    match = _CHAPTER_PATH.fullmatch(_path(link))
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
    """A card links the series and its chapter, in that order."""
    paths = [_path(link) for link in card.css("a[href]")]
    series = next((m[1] for path in paths if (m := _SERIES_PATH.fullmatch(path))), None)
    chapter = next((m[1] for path in paths if (m := _CHAPTER_PATH.fullmatch(path))), None)
    if series is None or chapter is None:
        return None
    return LatestEntry(series.upper(), chapter.upper(), at=_time_in(card), language=LANGUAGE)


def _path(link: LexborNode) -> str:
    """Where a link leads on the site itself; links are relative or absolute, depending on the page."""
    try:
        path = urlsplit(link.attributes.get("href") or "").path
    except ValueError:
        return ""
    found = _PATH_ON_SITE.search(path)
    return found[0] if found else ""


def _time_in(node: LexborNode) -> datetime | None:
    stamp = node.css_first("time[datetime]")
    return fields.time(stamp.attributes.get("datetime")) if stamp else None
