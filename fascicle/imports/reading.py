"""Reads a file into wanted series: size caps, decompression, recognising the format."""

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fascicle.imports.anilist import parse_anilist
from fascicle.imports.csv_table import parse_csv
from fascicle.imports.mal import parse_mal
from fascicle.imports.opml import parse_opml
from fascicle.imports.tachibk import parse_tachibk
from fascicle.imports.urls import looks_like_urls, parse_urls
from fascicle.imports.wanted import Parsed, Wanted, check_size, unusable

MAX_BYTES = 100_000_000
# Text becomes many small objects, each larger than its text.
MAX_TEXT_BYTES = 20_000_000

_GZIP = b"\x1f\x8b"
_PIECE = 1 << 20
_CONTROL = re.compile(rb"[\x00-\x06\x08\x0e-\x1a]")
_BACKUP_NAMES = (".tachibk", ".proto", ".proto.gz")
_OTHER_THINGS = {
    b"PK\x03\x04": "a ZIP archive (unpack it first)",
    b"\x89PNG": "a picture",
    b"\xff\xd8": "a picture",
    b"%PDF": "a PDF",
    b"SQLite format": "a database",
}


class Format(StrEnum):
    AUTO = "auto"
    URLS = "urls"
    CSV = "csv"
    OPML = "opml"
    TACHIBK = "tachibk"
    ANILIST = "anilist"
    MAL = "mal"


@dataclass(frozen=True)
class ImportFile:
    format: Format
    wanted: list[Wanted]
    notes: tuple[str, ...]
    digest: str
    """A hash of the contents and the format: the same digest means the same rows."""


def read_import(path: Path, wished: Format, is_series: Callable[[str], bool]) -> ImportFile:
    """Raises a UsageError that says what is wrong. `is_series` tells addresses of series on known sites."""
    raw = _read_capped(path)
    packed = raw.startswith(_GZIP)
    data = _unpacked(raw) if packed else raw
    if not data.strip():
        raise unusable(f"{path} is empty.")
    text = _as_text(data)
    kind = wished if wished is not Format.AUTO else _recognised(path, data, text, packed)
    parsed = _parse(kind, data, text, is_series)
    check_size(parsed.wanted)
    if not parsed.wanted:
        raise unusable(". ".join([f"There are no series in {path}", *parsed.notes]) + ".")
    digest = hashlib.sha256(f"{kind}\n".encode() + raw).hexdigest()
    return ImportFile(kind, parsed.wanted, parsed.notes, digest)


def _read_capped(path: Path) -> bytes:
    if not path.is_file():
        raise unusable(f"{path} is not a file." if path.exists() else f"There is no file {path}.")
    try:
        if path.stat().st_size <= MAX_BYTES:
            return path.read_bytes()
    except OSError as error:
        raise unusable(f"{path} cannot be read: {error.strerror}.") from error
    raise unusable(f"{path} is larger than {MAX_BYTES // 1_000_000} MB: that is no list of series.")


def _unpacked(raw: bytes) -> bytes:
    """Decompressed piece by piece, so that a small bomb cannot become a large one."""
    unpacked = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            while piece := file.read(_PIECE):
                unpacked.write(piece)
                if unpacked.tell() > MAX_BYTES:
                    raise unusable(f"Decompressed, it is larger than {MAX_BYTES // 1_000_000} MB; not read.")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise unusable(f"The compressed file is damaged or incomplete ({error}). Copy it again.") from error
    return unpacked.getvalue()


def _as_text(data: bytes) -> str | None:
    """The file as text, or None for a binary one. Single control characters, as in a title, are allowed."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    else:
        start = data[:_PIECE]
        controls = len(_CONTROL.findall(start))
        if controls * 200 > len(start):
            return None
        encodings = ["utf-8-sig"] if controls else ["utf-8-sig", "cp1252"]  # spreadsheets in the West
    if len(data) > MAX_TEXT_BYTES:
        raise unusable(f"Text of more than {MAX_TEXT_BYTES // 1_000_000} MB is no list of series; split it.")
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None


def _recognised(path: Path, data: bytes, text: str | None, packed: bool) -> Format:
    if text is None:
        return _recognised_binary(path, data, packed)
    start = text[:10_000].lstrip()
    if start.startswith(("{", "[")):
        return Format.ANILIST
    if start.startswith("<"):
        if "<opml" in start.lower():
            return Format.OPML
        if "<myanimelist" in start:
            return Format.MAL
        raise unusable("This is XML, but neither OPML nor a MyAnimeList export.")
    return Format.URLS if looks_like_urls(text) else Format.CSV


def _recognised_binary(path: Path, data: bytes, packed: bool) -> Format:
    for beginning, name in _OTHER_THINGS.items():
        if data.startswith(beginning):
            raise unusable(f"{path} is {name}; a list of series is wanted.")
    if packed or path.name.lower().endswith(_BACKUP_NAMES):
        return Format.TACHIBK
    known = ", ".join(Format)
    raise unusable(f"{path} is nothing that can be imported. If you know better, give --format ({known}).")


def _parse(kind: Format, data: bytes, text: str | None, is_series: Callable[[str], bool]) -> Parsed:
    if kind is Format.TACHIBK:
        return parse_tachibk(data)
    if text is None:
        raise unusable(f"The file is not text, so it is not {kind}.")
    if kind is Format.OPML:
        return parse_opml(data, is_series)
    if kind is Format.MAL:
        return parse_mal(data)
    readers = {Format.URLS: parse_urls, Format.CSV: parse_csv, Format.ANILIST: parse_anilist}
    return readers[kind](text)
