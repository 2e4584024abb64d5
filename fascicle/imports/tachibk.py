"""Backups of Mihon, Tachiyomi and their forks: protobuf.

The field numbers are those of Mihon's `data/backup/models`; other fields are skipped unread. Texts are
declared as bytes, so that one broken title does not make the whole file unreadable.
"""

import re
from decimal import Decimal
from functools import cache
from math import isfinite
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from fascicle.domain.series.chapter_key import number_of
from fascicle.imports.protobuf_parts import check_parts
from fascicle.imports.wanted import Parsed, Wanted, check_size, title_text, tracker_id, unusable, url_text

_PACKAGE = "fascicle.mihon"
_Field = FieldDescriptorProto
_MESSAGES: dict[str, dict[str, tuple[int, int | str]]] = {
    "Backup": {"manga": (1, "Manga"), "sources": (101, "Source")},
    "Source": {"name": (1, _Field.TYPE_BYTES), "id": (2, _Field.TYPE_INT64)},
    "Manga": {
        "source": (1, _Field.TYPE_INT64),
        "url": (2, _Field.TYPE_BYTES),
        "title": (3, _Field.TYPE_BYTES),
        "chapters": (16, "Chapter"),
        "tracking": (18, "Tracking"),
        "favorite": (100, _Field.TYPE_BOOL),
    },
    "Chapter": {"read": (4, _Field.TYPE_BOOL), "number": (9, _Field.TYPE_FLOAT)},
    "Tracking": {
        "tracker": (1, _Field.TYPE_INT32),
        "old_media_id": (3, _Field.TYPE_INT32),
        "last_read": (6, _Field.TYPE_FLOAT),
        "media_id": (100, _Field.TYPE_INT64),
    },
}
_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_MYANIMELIST, _ANILIST = 1, 2

# By the beginning of a source's name: the form of its own addresses, and the web address for them.
_SITES = (
    ("mangadex", re.compile(r"/(?:manga|title)/([0-9a-fA-F-]{36})(?:/.*)?"), "https://mangadex.org/title/{}"),
    ("weebcentral", re.compile(r"/series/([0-9A-Z]{26})(?:/.*)?"), "https://weebcentral.com/series/{}"),
    ("mangaplus", re.compile(r"#?/titles/(\d{1,9})"), "https://mangaplus.shueisha.co.jp/titles/{}"),
)


@cache
def backup_type() -> Any:
    """The message class of a whole backup."""
    file = FileDescriptorProto(name="mihon_backup.proto", package=_PACKAGE, syntax="proto2")
    file.message_type.extend(_descriptor(name, fields) for name, fields in _MESSAGES.items())
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Backup"))


def _descriptor(name: str, fields: dict[str, tuple[int, int | str]]) -> DescriptorProto:
    message = DescriptorProto(name=name)
    for field_name, (number, kind) in fields.items():
        field = message.field.add(name=field_name, number=number, label=_Field.LABEL_OPTIONAL)
        if isinstance(kind, str):
            field.type, field.label = _Field.TYPE_MESSAGE, _Field.LABEL_REPEATED
            field.type_name = f".{_PACKAGE}.{kind}"
        else:
            field.type = kind  # type: ignore[assignment]
        if field_name == "favorite":
            field.default_value = "true"  # Mihon leaves out default values
    return message


def parse_tachibk(data: bytes) -> Parsed:
    check_parts(data)
    try:
        backup = backup_type().FromString(data)
    except DecodeError as error:
        raise unusable("This is no Tachiyomi or Mihon backup, or it is damaged or incomplete.") from error
    check_size(backup.manga)
    if not any(manga.title or manga.url for manga in backup.manga):
        raise unusable("This is no Tachiyomi or Mihon backup, or it has no series in it.")
    names = {source.id: _simplified(source.name) for source in backup.sources}
    kept = [manga for manga in backup.manga if manga.favorite]
    left_out = len(backup.manga) - len(kept)
    notes = (f"{left_out} series left out: read once, but not in the library",) if left_out else ()
    return Parsed([_wanted(manga, names.get(manga.source, "")) for manga in kept], notes)


def _wanted(manga: Any, source_name: str) -> Wanted:
    return Wanted(
        title=title_text(_decoded(manga.title)),
        url=_address(source_name, _decoded(manga.url)),
        anilist_id=_tracked_as(manga, _ANILIST),
        mal_id=_tracked_as(manga, _MYANIMELIST),
        read=_read(manga),
    )


def _address(source_name: str, path: str) -> str | None:
    """The series' page on a site that we may know. Other sources use the same paths, so the name decides."""
    for site, form, address in _SITES:
        match = form.fullmatch(path.strip())
        if match and source_name.startswith(site):
            return address.format(match[1])
    return url_text(path) if path.startswith(("https://", "http://")) else None


def _tracked_as(manga: Any, tracker: int) -> str | None:
    found = (track for track in manga.tracking if track.tracker == tracker)
    return next((tracker_id(track.media_id or track.old_media_id) for track in found), None)


def _read(manga: Any) -> Decimal | None:
    """The highest chapter that was read, by the app or by a tracker. Mihon writes -1 for "no number"."""
    numbers = [chapter.number for chapter in manga.chapters if chapter.read and chapter.number >= 0]
    numbers += [track.last_read for track in manga.tracking if track.last_read > 0]
    highest = max((number for number in numbers if isfinite(number) and number < 1_000_000), default=None)
    # A 32-bit 10.1 is 10.1000003…; no chapter number has more than three decimal places.
    return None if highest is None else number_of(f"{highest:.3f}")


def _decoded(value: bytes) -> str:
    return value[:4096].decode("utf-8", "replace")


def _simplified(name: bytes) -> str:
    return _NOT_PLAIN.sub("", _decoded(name).lower())
