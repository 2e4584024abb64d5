"""Chapter numbers from sites' titles of chapters: `Vol.3 Ch. 45: Title`, `第12話`, `12. Bölüm`."""

import re
import unicodedata
from collections.abc import Iterable

from pydantic import BaseModel

from fascicle.domain.series import chapter_words as words
from fascicle.domain.series.chapter_key import (
    ChapterNumber,
    canonical_form,
    exact_form,
    one_spelling,
    read_number,
)

# A title is read up to here; its number does not come later.
_LONGEST = 500

_PART = (
    r"\d{1,20}(?:[.,]\d{1,8}){0,3}(?![.,]?\d)"
    r"(?:[.,-]?[a-z](?![^\W_])"
    # `12.special` is one, `12 special training` is a title.
    rf"|(?:[.,](?:{words.EXTRA})\b|[\s.,-]{{0,2}}(?:{words.EXTRA})(?=\s?(?:\d|chapter|episode|story|[^\w\s]|$)))"
    r"(?:\s?\d{1,3}\b)?)?"
)
_LAST = rf"(?:ch?(?:ap(?:ter)?)?\.?\s?)?{_PART}"
# `15 - 20 years later` is no range, `(15 - 20)` is.
_NUMBER = (
    rf"(?P<range>(?P<first>{_PART})(?:[-~&+]{_LAST}|\s(?:[-~&+]|to)\s?{_LAST}(?=\s?(?:[^\w\s]|$)))?)"
    r"(?:v\d{1,2})?"
)
_ALONE = rf"(?<![\w/])(?<!\d[.,-])(?<!\s[.,-]){_NUMBER}(?![^\W_])(?![./-]\d)"
# The characters that may stand between a word and its number; ` -1` is a negative number, though.
_BETWEEN = r"(?:(?!\s-\d)[\s.,:#(\[-]){0,4}(?:n[o°º]\.?\s?)?"
_NO_LETTER_BEFORE = r"(?<![^\W\d_])"


def _places(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


# Each from the surest place for a number to the weakest.
_BEFORE_A_COLON = _places(rf"^[\s,#-]*{_NUMBER}\s?:")
_AT_A_WORD = _places(
    rf"(?:{_NO_LETTER_BEFORE}(?:{words.CHAPTER})|{words.CHAPTER_UNSPACED}){_BETWEEN}{_NUMBER}",
    rf"(?<![\d.,]){_NUMBER}\.?\s?(?:{words.CHAPTER_AFTER_NUMBER})",
    rf"(?<![\d.,]){_NUMBER}\s?(?:{words.PART_AFTER_NUMBER})",
    rf"(?:#|№|\bno\.|\bn[°º]\.?)\s?{_NUMBER}",
    rf"(?:{_NO_LETTER_BEFORE}(?:{words.EPISODE})|{words.EPISODE_UNSPACED}){_BETWEEN}{_NUMBER}",
)
_BY_ITSELF = _places(
    rf"{_ALONE}(?![.,-]\w)(?=\s?(?:[^\w\s]|$))",
    rf"(?!\d+[a-z]){_ALONE}",  # the 3D of a name is no chapter
    r"\b(?P<range>(?P<first>\d{1,6}))(?:st|nd|rd|th)\b",
)

_WORD_START = r"(?:(?<=extra)|(?<=omake)|(?<=special)|(?<![^\W_]))"


def _volume(spaced: str, unspaced: str, after: str) -> re.Pattern[str]:
    word = rf"(?:{_WORD_START}(?:{spaced})|{unspaced})"
    before = rf"{word}[\s.:-]{{0,2}}(?P<before>\d{{1,6}}(?:\.\d{{1,3}})?)(?:-\d{{1,6}})?(?!\d)"
    return re.compile(rf"{before}|(?P<after>\d{{1,6}})(?:{after})", re.IGNORECASE)


_VOLUME = _volume(words.VOLUME, words.VOLUME_UNSPACED, words.VOLUME_AFTER_NUMBER)
_SEASON = _volume(words.SEASON, words.SEASON_UNSPACED, words.SEASON_AFTER_NUMBER)
_COUNTS_SOMETHING_ELSE = _places(
    r"(?<![^\W_])(?:ver(?:sion)?|pg|pp|p)\.?\s?\d{1,6}\b",
    r"\b\d{1,6}\s?pages?\b",
    rf"(?:^|(?<!\d)[^\w\s'’])\s?(?:{words.SPECIAL})[\s.:#-]{{0,3}}(?:{words.CHAPTER}|{words.EPISODE})?"
    r"[\s.:#-]{0,3}\d{1,6}(?:[.,]\d{1,3})?",
)
_BRACKETS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)|\{[^{}]*\}|【[^【】]*】")
_FILE_TYPE = re.compile(r"\.(?:zip|cbz|rar|cbr|7z|cb7|epub|pdf|png|jpe?g|webp)$", re.IGNORECASE)
_CJK_NUMERAL = re.compile(r"第([〇零一二三四五六七八九十百千]{1,9})(?=[話话章回巻卷季部])")
_CJK_DIGITS = "零一二三四五六七八九"
_CJK_UNITS = {"十": 10, "百": 100, "千": 1000}
_REMOVED = "|"


class TitleNumber(BaseModel):
    """The number a title gives, as `read_number` understands `raw`."""

    number: str
    """Canonical decimal text; of a range, its last chapter."""
    raw: str
    first: str | None = None
    """The first chapter of a range."""
    volume: str | None = None
    """The volume or else the season; the numbering may restart with it."""


def key_of_title(title: str, series: str | None = None) -> str | None:
    """The chapter key a title leads to; None: it has no number."""
    found = number_in_title(title, series)
    return found.number if found else None


def number_in_title(title: str, series: str | None = None) -> TitleNumber | None:
    """The chapter number in a site's label. `series` is the series' name, whose digits are ignored."""
    text = _FILE_TYPE.sub("", _tidy(title))
    rest = _without_series(text, _tidy(series or ""))
    unmarked, volume = _take_volume(rest)
    for pattern in _COUNTS_SOMETHING_ELSE:
        unmarked = pattern.sub(_REMOVED, unmarked)
    found = (
        (_first_number(_BEFORE_A_COLON, unmarked) if rest != text else None)
        or _first_number(_AT_A_WORD, unmarked)
        # The space makes a hyphen at the very beginning a minus sign.
        or _first_number(_BY_ITSELF, " " + _BRACKETS.sub(_REMOVED, unmarked))
    )
    if found is None:
        return None
    raw, number = found
    return TitleNumber(number=number.canonical, raw=raw, first=number.first, volume=volume)


def _tidy(text: str) -> str:
    """One spelling, one kind of space, no invisible characters, ASCII digits; a bounded length."""
    composed = unicodedata.normalize("NFC", one_spelling(text.strip()[:_LONGEST]))
    visible = "".join(map(_plain_character, composed))
    return _CJK_NUMERAL.sub(lambda m: f"第{_cjk_value(m[1])}", " ".join(visible.split()))


def _plain_character(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    if kind == "Cf":
        return ""
    return " " if kind == "Cc" or character == "_" else character


def _cjk_value(numeral: str) -> int:
    """十二 and 一二 are both 12: with units, or digit by digit."""
    digits = numeral.replace("〇", "零")
    if not _CJK_UNITS.keys() & set(digits):
        return int("".join(str(_CJK_DIGITS.index(c)) for c in digits))
    total = digit = 0
    for c in digits:
        if c in _CJK_UNITS:
            total += (digit or 1) * _CJK_UNITS[c]
            digit = 0
        else:
            digit = _CJK_DIGITS.index(c)
    return total + digit


def _without_series(text: str, series: str) -> str:
    """The text after the series' name, where it begins with it (perhaps after a tag in brackets)."""
    if not series:
        return text
    name = re.compile(rf"(?:{_BRACKETS.pattern}|\s)*{re.escape(series)}(?!\w|[.,]\d)", re.IGNORECASE)
    match = name.match(text)
    return text[match.end() :] if match else text


def _take_volume(text: str) -> tuple[str, str | None]:
    """The text without volumes and seasons, and the first of them."""
    found: list[str] = []
    for pattern in (_VOLUME, _SEASON):
        found += [match["before"] or match["after"] for match in pattern.finditer(text)]
        text = pattern.sub(_REMOVED, text)
    exact = exact_form(found[0]) if found else None
    return text, canonical_form(exact) if exact else None


def _first_number(places: Iterable[re.Pattern[str]], text: str) -> tuple[str, ChapterNumber] | None:
    """The first readable number, by the order of the places, with its text."""
    for place in places:
        for match in place.finditer(text):
            for raw in (match["range"], match["first"]):
                number = read_number(raw)
                if number is not None:
                    return raw, number
    return None
