"""Judge the entries of a feed's document (I2–I4): known, edited, known under another id, history, or new.

Ids are not reliable: feeds give one id to everything, change all of them at once, or move to another site.
An entry with an unknown key is compared with the entries that were seen before and are not listed now.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from fascicle.domain.feeds.canonical_url import url_key
from fascicle.domain.feeds.feed import Entry

# If no entry of a document is known, so large a share must be found again to count as a move.
_MIGRATED_SHARE = 0.3
# At most so many entries with the same address or title are compared.
_CANDIDATES = 20
# The dates of one article before and after a move differ by so much at most: zones and hours get lost.
_SAME_DAYS = timedelta(days=2)
# A shorter title ("News", "Update") does not identify an entry.
_TELLING_TITLE = 8
# If more entries than this, and more than half of the document, are unknown, old ones among them are history.
_BULK = 5
# Clocks and time zones differ: an entry that is older than the newest by less than this is not old.
_GRACE = timedelta(days=1)

_NOT_ALNUM = re.compile(r"[\W_]+")


class Verdict(StrEnum):
    KNOWN = "known"
    EDITED = "edited"
    RENAMED = "renamed"
    """Seen before under another key; no news."""
    SILENT = "silent"
    """New to us, but history: stored, but put into no inbox."""
    NEW = "new"


@dataclass(frozen=True)
class Seen:
    """An entry of the feed as it was seen before."""

    key: str
    item_id: int | None
    url_key: str | None
    title_key: str
    content_hash: str
    published_at: datetime | None


@dataclass(frozen=True)
class Listed:
    """An entry of the document with the keys that it is recognised by."""

    entry: Entry
    key: str
    url_key: str | None
    title_key: str
    content_hash: str

    @property
    def published_at(self) -> datetime | None:
        return self.entry.published_at


@dataclass(frozen=True)
class Judged:
    listed: Listed
    verdict: Verdict
    seen: Seen | None = None
    """The earlier entry that it was recognised as."""


@dataclass(frozen=True)
class Judgement:
    entries: list[Judged]
    flood: bool = False
    """So many entries came at once under new ids that they were taken for history or a move."""


def listed_entry(entry: Entry) -> Listed:
    return Listed(
        entry=entry,
        key=entry.key,
        url_key=url_key(entry.url) if entry.url else None,
        title_key=title_key(entry.title),
        content_hash=entry.content_hash or content_hash(entry),
    )


def title_key(title: str) -> str:
    """A title in one Unicode form, without case and punctuation."""
    plain = unicodedata.normalize("NFKC", title).casefold()
    return _NOT_ALNUM.sub(" ", plain).strip()[:300]


def content_hash(entry: Entry) -> str:
    """The hash of everything that an edit may change and a reader would see."""
    seen = (entry.title, entry.url, entry.summary, entry.content, entry.author)
    # The addresses of recordings and pictures have signatures that change at each request.
    links = [(link or "").partition("?")[0] for link in (entry.image_url, entry.media_url)]
    media = (*links, entry.duration_seconds, *entry.categories)
    words = "\x1f".join(str(part or "") for part in (*seen, *media))
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:32]


def second_key(listed: Listed) -> str:
    """The key of an entry whose id belongs to another entry: some feeds give one id to everything."""
    mark = listed.url_key or listed.title_key
    return f"{listed.key[:280]} {hashlib.sha256(mark.encode('utf-8', 'replace')).hexdigest()[:16]}"


def all_keys(entries: Iterable[Listed]) -> list[str]:
    """Every key under which one of the entries may have been seen."""
    return [key for listed in entries for key in (listed.key, second_key(listed))]


def judge(
    entries: Sequence[Listed],
    *,
    known: Mapping[str, Seen],
    lookalikes: Collection[Seen],
    first: bool,
    newest_published_at: datetime | None,
) -> Judgement:
    """`known`: entries seen under `all_keys`; `lookalikes`: entries seen with an entry's address or title.

    `first`: the feed was not followed until now, so that all its entries are history.
    """
    entries = [_under_its_own_key(listed, known) for listed in entries]
    strangers = [listed for listed in entries if listed.key not in known]
    listed_keys = {listed.key for listed in entries}
    vanished = [seen for seen in lookalikes if seen.key not in listed_keys]
    none_known = len(strangers) == len(entries)
    renamed = _found_again(strangers, vanished)
    moved = _found_by_title(strangers, vanished, renamed) if none_known else {}
    migrated = none_known and (bool(moved) or (len(renamed) >= 2 and _is_most(renamed, strangers)))
    renamed |= moved
    new = [listed for listed in strangers if listed.key not in renamed]
    bulk = len(new) > max(_BULK, len(entries) // 2)
    judged = [
        _judged(listed, known, renamed, _fresh(listed, first, migrated, bulk, newest_published_at))
        for listed in entries
    ]
    silenced = any(j.verdict is Verdict.SILENT for j in judged)
    flood = not first and bool(entries) and (migrated or (bulk and silenced))
    return Judgement(judged, flood)


def _under_its_own_key(listed: Listed, known: Mapping[str, Seen]) -> Listed:
    """An entry whose id belonged to another entry before gets a second key."""
    seen = known.get(listed.key)
    if seen is None or not _is_another_thing(listed, seen):
        return listed
    return Listed(
        entry=listed.entry,
        key=second_key(listed),
        url_key=listed.url_key,
        title_key=listed.title_key,
        content_hash=listed.content_hash,
    )


def _is_another_thing(listed: Listed, seen: Seen) -> bool:
    """Do address, title and date all differ? An edit leaves at least one of them alone."""
    if not listed.title_key or not seen.title_key or listed.title_key == seen.title_key:
        return False
    if listed.url_key is not None and listed.url_key == seen.url_key:
        return False
    same_day = listed.published_at is not None and listed.published_at == seen.published_at
    return not same_day and (listed.url_key, seen.url_key) != (None, None)


def _found_again(strangers: Sequence[Listed], vanished: Collection[Seen]) -> dict[str, Seen]:
    """Entries that only changed their ids."""
    alike: dict[str, list[Seen]] = {}
    for seen in vanished:
        for mark in (seen.url_key, seen.title_key):
            if mark:
                alike.setdefault(mark, []).append(seen)
    found: dict[str, Seen] = {}
    used: set[str] = set()
    for listed in strangers:
        marks = [mark for mark in (listed.url_key, listed.title_key) if mark]
        candidates = [seen for mark in marks for seen in alike.get(mark, ())[:_CANDIDATES]]
        match = next((c for c in candidates if c.key not in used and _is_the_same(listed, c)), None)
        if match is not None:
            found[listed.key] = match
            used.add(match.key)
    return found


def _is_the_same(listed: Listed, seen: Seen) -> bool:
    """True if the date and the address or title are the same, or if everything but the date is: some feeds
    invent a new date at each request.

    An entry with the same address and title, but other words and another date (or none), is the next of a
    series: a forecast, a live page, the next version of something.
    """
    if listed.published_at is not None and listed.published_at == seen.published_at:
        same_url = listed.url_key is not None and listed.url_key == seen.url_key
        return same_url or (bool(listed.title_key) and listed.title_key == seen.title_key)
    return listed.content_hash == seen.content_hash and _is_near(listed, seen)


def _is_near(listed: Listed, seen: Seen) -> bool:
    if listed.published_at is None or seen.published_at is None:
        return True
    return abs(listed.published_at - seen.published_at) <= _SAME_DAYS


def _found_by_title(
    strangers: Sequence[Listed], vanished: Collection[Seen], taken: Mapping[str, Seen]
) -> dict[str, Seen]:
    """After a move, little but the titles is the same. Unique titles count, and only if there are enough."""
    used = {seen.key for seen in taken.values()}
    seen_titles = Counter(seen.title_key for seen in vanished)
    by_title = {seen.title_key: seen for seen in vanished if seen.key not in used}
    titles = Counter(listed.title_key for listed in strangers)
    found = {
        listed.key: seen
        for listed in strangers
        if listed.key not in taken
        and (seen := by_title.get(listed.title_key)) is not None
        and len(listed.title_key) >= _TELLING_TITLE
        and titles[listed.title_key] == seen_titles[listed.title_key] == 1
        and (_is_near(listed, seen) or listed.url_key == seen.url_key)
    }
    enough = len(found) + len(taken) >= 2 and _is_most([*found, *taken], strangers)
    return found if enough else {}


def _is_most(found: Collection[object], strangers: Sequence[Listed]) -> bool:
    return bool(found) and len(found) >= _MIGRATED_SHARE * len(strangers)


def _fresh(
    listed: Listed, first: bool, migrated: bool, bulk: bool, newest_published_at: datetime | None
) -> Verdict:
    """The verdict on an unknown entry: news, or history that was not listed before."""
    if first:
        return Verdict.SILENT
    date = listed.published_at
    if migrated:
        is_younger = date is not None and (newest_published_at is None or date >= newest_published_at)
        return Verdict.NEW if is_younger else Verdict.SILENT
    if bulk and date is not None and newest_published_at is not None and date < newest_published_at - _GRACE:
        return Verdict.SILENT
    return Verdict.NEW


def _judged(
    listed: Listed, known: Mapping[str, Seen], renamed: Mapping[str, Seen], otherwise: Verdict
) -> Judged:
    if seen := known.get(listed.key):
        same = seen.content_hash == listed.content_hash
        return Judged(listed, Verdict.KNOWN if same else Verdict.EDITED, seen)
    if seen := renamed.get(listed.key):
        return Judged(listed, Verdict.RENAMED, seen)
    return Judged(listed, otherwise)
