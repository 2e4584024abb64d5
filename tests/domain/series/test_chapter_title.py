"""Chapter numbers from titles (C5)."""

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fascicle.domain.series.chapter_key import number_of
from fascicle.domain.series.chapter_title import TitleNumber, key_of_title, number_in_title


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Chapter 12.5", "12.5"),
        ("Vol.3 Ch. 45: Title", "45"),
        ("Episode 7", "7"),
        ("#12", "12"),
        ("No.12", "12"),
        ("S2 Ep. 4", "4"),
        ("S02E04", "4"),
        ("Chapter 0", "0"),
        ("Chapter 012.50", "12.5"),
        ("Chapter 1,000", "1000"),
        ("Chapter 12END", "12"),
        ("chapter-12-5", "12.5"),
        ("Chapter 15 - 20 Years Later", "15"),
        ("Chapter 5 A New Day", "5"),
        ("Chapter 12 Special Training", "12"),
        ("3D Kanojo 12", "12"),
        ("2.5 Dimensional Seduction 45", "45"),
        ("The Novel's Extra Chapter 12", "12"),
        ("1 Romance Dawn", "1"),
        ("Act.12", "12"),
    ],
)
def test_c5_labels_of_scanlation_sites(title: str, key: str) -> None:
    assert key_of_title(title) == key


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Chapitre 12", "12"),
        ("Capítulo 12", "12"),
        ("Capi\u0301tulo 12", "12"),
        ("Cap. 12,5", "12.5"),
        ("Том 2 Глава 12.5", "12.5"),
        ("Band 3 Kapitel 12", "12"),
        ("12. Kapitel", "12"),
        ("Capitolo 12", "12"),
        ("第12話", "12"),
        ("第１２話　題", "12"),
        ("第12章", "12"),
        ("第3章 第12话", "12"),
        ("3巻 12話", "12"),
        ("第十二話", "12"),
        ("第一百二十三话", "123"),
        ("第一〇五回", "105"),
        ("12화", "12"),
        ("시즌2 12화", "12"),
        ("Tập 3 Chương 12", "12"),
        ("Chap 12", "12"),
        ("12. Bölüm", "12"),
        ("BÖLÜM 12", "12"),
        ("Bab 12", "12"),
        ("ตอนที่ 12", "12"),
        ("ตอนที่ ๑๒", "12"),
        ("الفصل 12", "12"),
    ],
)
def test_c5_other_languages(title: str, key: str) -> None:
    assert key_of_title(title) == key


@pytest.mark.parametrize(
    "title",
    [
        "",
        "Vol 1",
        "Vol.1-3",
        "Oneshot",
        "Extra",
        "Foo",
        "Chapter one",
        "Ch.",
        "Chapter -1",
        "-1",
        "3D Kanojo",
        "Update 2024-01-15",
        "Chapter 1.2.3",
        "Chapter 9999999999999999999999",
    ],
)
def test_c5_no_number_is_none_and_never_zero(title: str) -> None:
    assert key_of_title(title) is None


@pytest.mark.parametrize(
    "title", ["Extra 3", "Bonus Chapter 2", "Vol. 3 Extra Chapter 2", "Side Story 12", "番外編2"]
)
def test_c5_the_count_of_extras_is_no_chapter_number(title: str) -> None:
    assert key_of_title(title) is None


@pytest.mark.parametrize(
    ("title", "number", "raw", "first"),
    [
        ("Chapter 19A", "19.1", "19A", None),
        ("Chapter 12 Extra 2", "12.99", "12 Extra 2", None),
        ("Chapter 7v2", "7", "7", None),
        ("Chapters 15 - 20", "20", "15 - 20", "15"),
        ("Chapter 12 & 13", "13", "12 & 13", "12"),
        ("Ch.1–Ch.8", "8", "1-Ch.8", "1"),
        ("第1〜3話", "3", "1~3", "1"),
    ],
)
def test_c5_letters_and_ranges_keep_their_text(title: str, number: str, raw: str, first: str | None) -> None:
    assert number_in_title(title) == TitleNumber(number=number, raw=raw, first=first)


@pytest.mark.parametrize(
    ("title", "volume"),
    [
        ("Vol.03 Ch. 45", "3"),
        ("Chapter 45 Volume 2.5", "2.5"),
        ("Season 2 Chapter 13", "2"),
        ("2nd Season Chapter 13", "2"),
        ("Season 2 Vol. 7 Chapter 13", "7"),
        ("第2部 第5話", "2"),
        ("Chapter 5", None),
    ],
)
def test_c5_the_volume_or_season_is_kept(title: str, volume: str | None) -> None:
    found = number_in_title(title)
    assert found is not None
    assert found.volume == volume


@pytest.mark.parametrize(
    ("title", "series", "key"),
    [
        ("86 Chapter 3", "86", "3"),
        ("86", "86", None),
        ("86", None, "86"),
        ("[Group] Area 51 12 The Gate", "AREA 51", "12"),
        ("20th Century Boys 5: Chapter 1", "20th Century Boys", "5"),
    ],
)
def test_c5_digits_of_the_series_name_are_not_the_chapter(
    title: str, series: str | None, key: str | None
) -> None:
    assert key_of_title(title, series) == key


@pytest.mark.parametrize(
    "title", ["Chapter\x0012", "\ufeffChap\u200bter 12", "Chapter 12\x1b[31m", "Ch.\t\n12"]
)
def test_control_characters_do_not_hide_the_number(title: str) -> None:
    assert key_of_title(title) == "12"


HOSTILE = [
    "1",
    "chapter ",
    "[",
    "(",
    "ch 1-",
    "1,",
    "1.1a",
    "1-1",
    "extra ",
    "v1 ",
    "十",
    "第九",
    "- ",
    "a1",
    "(1",
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_ten_thousand_characters_take_no_time(pattern: str) -> None:
    title = (pattern * 10_000)[:10_000]
    begun = time.process_time()
    number_in_title(title)
    number_in_title(title, title)
    assert time.process_time() - begun < 0.5


pieces = st.sampled_from(
    [
        "Chapter ",
        "Ch.",
        "Vol.",
        "S",
        "E",
        "#",
        "第",
        "話",
        "Extra",
        "-",
        "~",
        ".",
        ",",
        " ",
        "a",
        "v",
        "(",
        "]",
        "１",
    ]
)
titles = st.text() | st.lists(pieces | st.integers(0, 9999).map(str), max_size=12).map("".join)


@given(titles, st.none() | titles)
def test_c5_any_text_is_read_and_what_is_kept_gives_the_number_again(title: str, series: str | None) -> None:
    found = number_in_title(title, series)
    if found is not None:
        assert number_of(found.raw) == Decimal(found.number)
        assert key_of_title(found.number) == found.number
