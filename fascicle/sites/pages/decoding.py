"""Decodes a page's bytes, by the encoding that its header or the page itself declares."""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# The encodings of pages. Python has other codecs, which take hours or are not for text.
_OF_PAGES = re.compile(
    r"utf-?(8|16|16le|16be|32)|(us-)?ascii|(iso|windows|cp|ibm|koi8|mac|tis|euc)[-_]?[a-z0-9_-]*"
    r"|latin-?[0-9]+|gb[0-9k]+|hz(-gb-2312)?|big5(-hkscs)?|(x-)?s(hift)?[-_]?jis",
    re.IGNORECASE,
)
# So many bytes are enough to detect an encoding.
_SAMPLE = 20_000
# So many more bytes than characters make UTF-8 certain.
_SURELY = 12
# Browsers read these as their supersets, and pages rely on it.
_AS_BROWSERS_DO = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}


def decoded(body: bytes, content_type: str | None) -> str:
    """Bytes that cannot be decoded are replaced: most of a page is better than none of it."""
    encoding = _encoding(body, content_type)
    if encoding != "utf-8" and not _is_surely_utf8(body):
        return body.decode(encoding, "replace")
    text = body.decode("utf-8", "replace")
    # The page may declare nothing, or UTF-8 by mistake. The cap may have cut a character in two.
    broken = text.count("\ufffd")
    return body.decode(_guessed(body), "replace") if broken > 1 + len(text) // 2000 else text


def _is_surely_utf8(body: bytes) -> bool:
    """Is it UTF-8, whatever it declares? A page that was saved or passed on keeps its old label. No text in
    another encoding has so many UTF-8 characters by chance."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    try:
        # The cap may have cut the last character in two.
        text = codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return len(body) - len(text) >= _SURELY


def _guessed(body: bytes) -> str:
    """Detect the encoding by the letters. That is expensive, and only needed for a wrong declaration."""
    from charset_normalizer import from_bytes

    # The beginning is markup, so take the lines with bytes that are not ASCII.
    sample = b"\n".join(line for line in body.split(b"\n") if not line.isascii())[:_SAMPLE]
    best = from_bytes(sample).best()
    return (best and _known(best.encoding)) or "cp1252"


def _encoding(body: bytes, content_type: str | None) -> str:
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return encoding
    start = body[:4096].decode("ascii", "replace")
    for said in (content_type or "", start):
        for label in _CHARSET.findall(said):
            if known := _known(label):
                return known
    return "utf-8"


def _known(label: str) -> str | None:
    if not _OF_PAGES.fullmatch(label):
        return None
    try:
        name = codecs.lookup(label.lower().removeprefix("x-")).name
    except LookupError:
        return None
    return _AS_BROWSERS_DO.get(name, name)
