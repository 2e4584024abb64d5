"""Makes text for a strict parser from a feed's bytes: decoded, and without characters that XML forbids."""

import codecs
import re
from html.entities import name2codepoint

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE_STARTS = (
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_HTTP_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
# Names of encodings that usually mean a superset.
_SUPERSETS = {
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii", "iso_8859-1"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80", "x-gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    "iso-8859-9": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "x-mac-roman": "mac-roman",
}
_SEVEN_BIT = ("iso-2022", "hz", "utf-7")
# Python also knows encodings that no feed is written in (`unicode_escape`, `punycode`).
_KNOWN = re.compile(
    r"(?:cp|windows-|iso-?8859|iso-2022|koi8|gb|big5|euc|mac|hz|utf-?[78]|johab|tis)[a-z0-9_-]*"
)

_LETTERS = re.compile("[^\x00-\x7f\ufffd]+")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CDATA = re.compile(r"(<!\[CDATA\[.*?(?:\]\]>|\Z))", re.DOTALL)
_AMPERSAND = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos);)(?:#(?:(\d{1,7})|[xX]([0-9a-fA-F]{1,6}));|([A-Za-z]\w{1,31});)?"
)
_PROLOG = re.compile(r"[\s\ufeff]+|<\?|<!--|<!DOCTYPE", re.IGNORECASE)
_ROOT = re.compile(r"<((?:[\w.-]+:)?([A-Za-z][\w.-]*))")
_FEED_START = re.compile(r"<(?:[\w.-]+:)?(?:rss|feed|RDF)[\s>]", re.IGNORECASE)
_PREFIXED_ENTRY = re.compile(r"<([A-Za-z][\w.-]*):(?:item|entry)[\s>]")
_DECLARATION = "<?xml version='1.0' encoding='utf-8'?>\n"
FEED_ROOTS = frozenset({"rss", "feed", "rdf", "channel"})
PAGE_ROOTS = frozenset({"html", "head", "body"})


def decoded(body: bytes, content_type: str | None) -> str:
    """The text. Valid UTF-8 is read as UTF-8 whatever is declared: no other text is valid by chance."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    for start, encoding in _WIDE_STARTS:
        if body.startswith(start):
            return body.decode(encoding, "replace")
    declared = _declared(body, content_type)
    if body.isascii() and not any(encoding.startswith(_SEVEN_BIT) for encoding in declared):
        return body.decode("ascii")
    for encoding in declared if body.isascii() else ("utf-8", *declared):
        try:
            return body.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return _best_of_a_bad_lot(body)


def _declared(body: bytes, content_type: str | None) -> list[str]:
    """The encodings that are declared: by the server first, then by the document."""
    served = _HTTP_CHARSET.search(content_type or "")
    written = _XML_ENCODING.match(body)
    names = [served[1].lower()] if served else []
    names += [written[1].decode("ascii").lower()] if written else []
    evened = [_SUPERSETS.get(name, name) for name in names]
    return [name for name in evened if _KNOWN.fullmatch(name)]


def _best_of_a_bad_lot(body: bytes) -> str:
    """UTF-8 with a few broken letters, most of them cut in two, or else the old encoding of Windows."""
    text = body.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    letters = sum(len(run) for run in _LETTERS.findall(text))
    return text if letters > broken else body.decode("cp1252", "replace")


def prepared(text: str) -> tuple[str, str]:
    """The root's name, lower case and without prefix ("" after garbage), and the document from its root on.

    The DOCTYPE is removed, and with it all entities, which allow XML bombs.
    """
    clean = _FORBIDDEN.sub("", text)
    start = root_start(clean)
    root = _ROOT.match(clean, start)
    name = root[2].lower() if root else ""
    # Sites often print warnings of their own programs before the feed.
    if name not in FEED_ROOTS | PAGE_ROOTS and (later := _FEED_START.search(clean, start)):
        name, start = "", later.start()
    return name, _DECLARATION + _with_known_entities(clean[start:])


def root_start(text: str) -> int:
    """The position after the prolog (declaration, comments, DOCTYPE)."""
    at = 0
    while part := _PROLOG.match(text, at):
        at = _end_of(part[0].upper(), text, part)
        if at >= len(text):
            return len(text)
    return at


def _end_of(kind: str, text: str, part: re.Match[str]) -> int:
    if kind == "<?":
        return _after(">", text, part.end())
    if kind == "<!--":
        return _after("-->", text, part.end())
    if kind == "<!DOCTYPE":
        end = text.find(">", part.end())
        subset = text.find("[", part.end(), max(end, part.end()))
        return _after("]", text, subset, then=">") if subset > -1 else _after(">", text, part.end())
    return part.end()


def _after(mark: str, text: str, start: int, *, then: str = "") -> int:
    found = text.find(mark, start)
    if found < 0:
        return len(text)
    return _after(then, text, found) if then else found + len(mark)


def _with_known_entities(text: str) -> str:
    """Makes every `&` valid without a DTD. CDATA stays as it is."""
    if "&" not in text:
        return text
    parts = _CDATA.split(text)
    parts[::2] = [_AMPERSAND.sub(_known, part) for part in parts[::2]]
    return "".join(parts)


def _known(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        code = name2codepoint.get(name)
        return chr(code) if code else f"&amp;{name};"
    if not (decimal or hexadecimal):
        return "&amp;"
    code = int(decimal) if decimal else int(hexadecimal, 16)
    allowed = (
        code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0xFFFF < code < 0x110000
    )
    return reference[0] if allowed else ""


def without_prefix(text: str) -> str | None:
    """The document without its entries' namespace prefix; None if they have none."""
    found = _PREFIXED_ENTRY.search(text)
    if found is None:
        return None
    prefix = re.escape(found[1])
    bare = re.sub(rf"""\sxmlns(?::{prefix})?\s*=\s*(?:"[^"<>]*"|'[^'<>]*')""", "", text)
    bare = re.sub(rf"(</?){prefix}:", r"\1", bare)
    return re.sub(rf"(\s){prefix}:(version\s*=)", r"\1\2", bare)
