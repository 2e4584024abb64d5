"""Recognises documents that are no pages, by the site's content type and by their first bytes."""

import re

from fascicle.domain.errors import PermanentError
from fascicle.domain.urls import place
from fascicle.sites.pages.fetching import media_type

_HTML = ("text/html", "application/xhtml+xml")
# Content types that sites also give to pages; the bytes decide.
_VAGUE = ("", "text/plain", "text/xml", "application/xml", "application/octet-stream", "binary/octet-stream")
_NAMED = {
    "application/pdf": "a PDF",
    "application/json": "JSON",
    "application/zip": "an archive",
    "application/gzip": "an archive",
    "application/x-gzip": "an archive",
    "application/x-tar": "an archive",
    "application/x-7z-compressed": "an archive",
    "application/epub+zip": "an e-book",
    "application/rss+xml": "a feed",
    "application/atom+xml": "a feed",
    "application/msword": "a Word document",
}
_FAMILIES = {"image/": "an image", "audio/": "audio", "video/": "a video", "font/": "a font"}
_MAGIC = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "an archive or a document of an office suite"),
    (b"\x1f\x8b", "an archive"),
    (b"7z\xbc\xaf\x27\x1c", "an archive"),
    (b"Rar!\x1a\x07", "an archive"),
    (b"BZh", "an archive"),
    (b"\xfd7zXZ\x00", "an archive"),
    (b"\x28\xb5\x2f\xfd", "an archive"),
    (b"\x89PNG\r\n\x1a\n", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF87a", "an image"),
    (b"GIF89a", "an image"),
    (b"II*\x00", "an image"),
    (b"MM\x00*", "an image"),
    (b"\x00\x00\x01\x00", "an image"),
    (b"ID3", "audio"),
    (b"OggS", "audio"),
    (b"fLaC", "audio"),
    (b"\xff\xfb", "audio"),
    (b"\x1a\x45\xdf\xa3", "a video"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of an office suite"),
    (b"{\\rtf", "a text document (RTF)"),
    (b"%!PS", "a PostScript document"),
    (b"\x7fELF", "a program"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
)
_RIFF = {b"WEBP": "an image", b"WAVE": "audio", b"AVI ": "a video"}
_BLANK = b" \t\r\n\xef\xbb\xbf"
_JSON = re.compile(rb'(?:\{\s*(?:"|\}\s*$)|\[\s*(?:[\[{"\d-]|\]\s*$))')
_ROOT = re.compile(
    # Comments match atomically; otherwise backtracking would take exponential time in their number.
    rb"(?:<\?xml[^>]{0,200}\?>|(?><!--.{0,2000}?-->)|\s)*+<(rss|feed|rdf:RDF|svg|opml|urlset|sitemapindex)\b",
    re.DOTALL,
)
_ROOTS = {
    b"rss": "a feed",
    b"feed": "a feed",
    b"rdf:RDF": "a feed",
    b"svg": "an image",
    b"opml": "a list of feeds",
}
_ROOTS |= {b"urlset": "a site map", b"sitemapindex": "a site map"}


def is_readable(content_type: str | None) -> bool:
    """Can a document with this content type be a page?"""
    kind = media_type(content_type)
    return kind in _HTML or kind in _VAGUE


def check_kind(body: bytes, url: str, content_type: str | None) -> None:
    """Raise `unsupported_type` for a document that is no page, whatever its content type is."""
    kind = media_type(content_type)
    what = kind_of_bytes(body) or (None if is_readable(content_type) else _kind_called(kind))
    if what is not None:
        raise PermanentError(
            "unsupported_type",
            f"{place(url)[:200]} is {what}, not a page. Give the address of a page in HTML.",
        )


def kind_of_bytes(body: bytes) -> str | None:
    """The kind of a document by its beginning; None: it may be a page."""
    for magic, what in _MAGIC:
        if body.startswith(magic):
            return what
    if body[:4] == b"RIFF":
        return _RIFF.get(body[8:12], "audio or video")
    if body[4:8] == b"ftyp":
        return "a video" if body[8:11] not in (b"M4A", b"avi", b"hei", b"mif") else "audio or an image"
    if body[257:262] == b"ustar":
        return "an archive"
    bare = body[:5000].lstrip(_BLANK)
    if _JSON.match(bare):
        return "JSON"
    if root := _ROOT.match(bare):
        return _ROOTS[root[1]]
    # UTF-16 contains zero bytes too, but begins with its mark.
    is_binary = b"\0" in body[:2000] and not body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return "a binary file" if is_binary else None


def _kind_called(kind: str) -> str:
    family = next((what for start, what in _FAMILIES.items() if kind.startswith(start)), None)
    if family or kind in _NAMED:
        return family or _NAMED[kind]
    return "JSON" if kind.endswith("+json") else f"of the type {kind[:60]!r}"
