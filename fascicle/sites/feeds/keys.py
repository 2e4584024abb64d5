"""Each entry's id within its feed: unique in the document, the same at every reading.

The feed's own ids are used if they are unique; else the address, else the words. Neither the order of the
entries nor other entries matter, unless another entry has the same id.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from fascicle.domain.feeds.canonical_url import url_key
from fascicle.domain.feeds.feed import Entry

_LONGEST = 300
_START = 500
# The BBC appends a version to a story's id; the story is the part before it.
_VERSION = re.compile(r"(https?://[^#]+)#\d+")
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def with_keys(entries: Iterable[Entry]) -> list[Entry]:
    """The entries with their keys, in their order, without exact duplicates and empty entries."""
    listed = _without_repeats([entry for entry in entries if not is_empty(entry)])
    keys = _keys(listed)
    claimed = Counter(keys)
    final = [
        key if claimed[key] == 1 else _fingerprint(entry) for key, entry in zip(keys, listed, strict=True)
    ]
    unique: dict[str, Entry] = {}
    for key, entry in zip(final, listed, strict=True):
        unique.setdefault(key, entry)
    return [entry.model_copy(update={"key": key}) for key, entry in unique.items()]


def is_empty(entry: Entry) -> bool:
    """No id, address, words or date: nothing that it could be recognised by."""
    words = entry.title or entry.summary or entry.content
    return not (_guid(entry) or entry.url or words or entry.published_at)


def as_episode(entry: Entry, podcast: str) -> Entry:
    """A keyed entry with its id among all podcasts, if its key is the id that its feed gives."""
    guid = _guid(entry)
    if not guid or entry.key not in (_short(guid), _short(_without_version(guid))):
        return entry
    name = f"{podcast}:{entry.key}"
    return entry.model_copy(update={"provider": "podcast", "provider_item_id": _short(name)})


def _without_repeats(entries: list[Entry]) -> list[Entry]:
    """Entries with the same id, address and title are one; its latest version counts."""
    given = Counter(_guid(entry) for entry in entries)
    kept: dict[object, Entry] = {}
    for number, entry in enumerate(entries):
        guid = _guid(entry)
        repeats = guid and given[guid] > 1
        identity = (guid, url_key(entry.url or ""), entry.title) if repeats else number
        if identity not in kept or _version(entry) > _version(kept[identity]):
            kept[identity] = entry
    return list(kept.values())


def _version(entry: Entry) -> datetime:
    return entry.updated_at or entry.published_at or _LONG_AGO


def _keys(entries: list[Entry]) -> list[str]:
    names = _names(entries)
    addresses = [
        None if name else url_key(entry.url or "") for name, entry in zip(names, entries, strict=True)
    ]
    shared = Counter(addresses)
    return [
        _short(name or (f"url:{address}" if address and shared[address] == 1 else _fingerprint(entry)))
        for name, address, entry in zip(names, addresses, entries, strict=True)
    ]


def _names(entries: list[Entry]) -> list[str | None]:
    """Each entry's id from its feed; None if another entry has the same one."""
    guids = [_guid(entry) for entry in entries]
    stories = [_without_version(guid) for guid in guids]
    given, told = Counter(guids), Counter(stories)
    return [
        story if story and told[story] == 1 else guid if guid and given[guid] == 1 else None
        for guid, story in zip(guids, stories, strict=True)
    ]


def _without_version(guid: str) -> str:
    match = _VERSION.fullmatch(guid)
    return match[1] if match else guid


def _guid(entry: Entry) -> str:
    return (entry.guid or "").strip()


def _short(key: str) -> str:
    return key if len(key) <= _LONGEST else _hash(key)


def _fingerprint(entry: Entry) -> str:
    when = entry.published_at.isoformat() if entry.published_at else ""
    words = (entry.summary or entry.content or "")[:_START]
    return _hash("\x1f".join((_guid(entry), entry.title, when, entry.url or "", words)))


def _hash(text: str) -> str:
    return f"sha:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"
