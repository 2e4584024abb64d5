"""C14: what each format's file asks for."""

import struct
from decimal import Decimal
from typing import Any

import orjson
import pytest

from fascicle.imports.anilist import parse_anilist
from fascicle.imports.csv_table import doubtful_csv, parse_csv
from fascicle.imports.mal import parse_mal
from fascicle.imports.opml import parse_opml
from fascicle.imports.tachibk import parse_tachibk
from fascicle.imports.urls import parse_urls
from fascicle.imports.wanted import Wanted, chapter_number, title_text
from tests.imports.examples import (
    ELSEWHERE,
    MANGAPLUS,
    NO_NUMBER,
    ULID,
    UUID,
    WEEBCENTRAL,
    anilist_entry,
    backup,
    chapters,
    mal,
    mal_entry,
    manga,
)

URL = f"https://mangadex.org/title/{UUID}"


def test_urls_have_comments_and_fragments() -> None:
    text = f"# mine\n\n{URL}\r\n  {URL}/x  # good\nhttps://a.example/#/titles/1\nnonsense\n"
    wanted = parse_urls(text).wanted
    assert [w.url for w in wanted] == [URL, f"{URL}/x", "https://a.example/#/titles/1", "nonsense"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_columns_are_found_by_their_names(delimiter: str) -> None:
    rows = [["No.", "Series Title", "URL", "Chapters_Read", "MAL ID"], ["1", 'A "b"', URL, "12.5", "7"]]
    rows += [["2", "No address", "", "-", ""], ["3", "", "", "", ""], ["4", "Short"]]
    text = "\n".join(
        delimiter.join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in rows
    )
    assert parse_csv(text).wanted == [
        Wanted(title='A "b"', url=URL, read=Decimal("12.5"), mal_id="7"),
        Wanted(title="No address"),
        Wanted(title="Short"),
    ]


def test_csv_without_a_header_is_read_by_its_looks() -> None:
    assert parse_csv(f"{URL},12\nLanterns,{URL},3\nOnly a title\n").wanted == [
        Wanted(url=URL, read=Decimal(12)),
        Wanted(title="Lanterns", url=URL, read=Decimal(3)),
        Wanted(title="Only a title"),
    ]


def test_doubtful_rows_come_back_once_taken_and_not_before() -> None:
    doubt = {"title": "=cmd()", "read": Decimal("3.5"), "why": "two are called so", "take": ""}
    rows = [{**doubt, "candidate": name, "url": f"{URL}/{name}"} for name in "ab"]
    written = doubtful_csv(rows)
    assert "\n,'=cmd()," in written, "a spreadsheet does not calculate it"
    assert parse_csv(written).wanted == []
    lines = written.splitlines()
    edited = parse_csv("\n".join([*lines[:2], f"x{lines[2]}"]))
    assert edited.wanted == [Wanted(title="'=cmd()", url=f"{URL}/b", read=Decimal("3.5"))]
    assert "1 rows left out" in edited.notes[0]


def test_opml_takes_series_and_counts_feeds() -> None:
    text = f"""<opml version="2.0"><body><outline text="Comics">
      <outline text="Lanterns" xmlUrl="https://feed.example/rss" htmlUrl="{URL}"/>
      <outline text="News" xmlUrl="https://news.example/rss"/></outline></body></opml>"""
    parsed = parse_opml(text.encode(), lambda url: "mangadex" in url)
    assert parsed.wanted == [Wanted(title="Lanterns", url=URL)]
    assert "1 feeds left out" in parsed.notes[0]


def test_backup_addresses_progress_and_trackers() -> None:
    tracking = [{"tracker": 2, "media_id": 105778, "last_read": 9.0}, {"tracker": 1, "old_media_id": 116778}]
    parsed = parse_tachibk(
        backup(
            manga("Dex", f"/manga/{UUID}", chapters=chapters(1, 10.1, NO_NUMBER) + chapters(11, read=False)),
            manga("Weeb", f"/series/{ULID}/a-slug", WEEBCENTRAL, chapters=chapters(3), tracking=tracking),
            manga("Plus", "#/titles/100037", MANGAPLUS),
            manga("Clone", f"/manga/{UUID}", ELSEWHERE, chapters=chapters(0)),
            manga("Dropped", f"/manga/{UUID}", favorite=False),
            manga("Nameless source", f"/manga/{UUID}", 99, chapters=chapters(float("nan"), float("inf"))),
        )
    )
    assert parsed.wanted == [
        Wanted(title="Dex", url=URL, read=Decimal("10.1")),
        Wanted(
            title="Weeb",
            url=f"https://weebcentral.com/series/{ULID}",
            anilist_id="105778",
            mal_id="116778",
            read=Decimal(9),
        ),
        Wanted(title="Plus", url="https://mangaplus.shueisha.co.jp/titles/100037"),
        Wanted(title="Clone", read=Decimal(0)),
        Wanted(title="Nameless source"),
    ]
    assert "1 series left out" in parsed.notes[0]


def test_backup_field_numbers_are_mihons() -> None:
    """Written by hand as Mihon writes it, with fields that are unknown here, one of them non-compliant."""

    def block(number: int, content: bytes) -> bytes:
        tag = (number << 3) | 2
        head = bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])
        return head + bytes([len(content)]) + content

    chapter = block(1, b"/chapter/x") + block(2, b"Ch. 7") + b"\x20\x01" + b"\x4d" + struct.pack("<f", 7.5)
    series = b"\x08\x05" + block(2, f"/manga/{UUID}".encode()) + block(3, b"Broken \xff title")
    series += block(5, b"Author") + block(16, chapter) + block(110, b"notes")
    source = block(1, b"MangaDex") + b"\x10\x05"
    broken_source = b"\x02\x01x" + b"\x08\x05"
    data = block(1, series) + block(2, b"\x0a\x01c") + block(100, broken_source) + block(101, source)
    assert parse_tachibk(data).wanted == [Wanted(title="Broken � title", url=URL, read=Decimal("7.5"))]


def test_mal_titles_ids_and_progress() -> None:
    data = mal(mal_entry("Frost & Co", 7, 12), mal_entry("  ", 8), mal_entry("Begun", 9, 0, "Dropped"))
    assert parse_mal(data).wanted == [
        Wanted(title="Frost & Co", mal_id="7", read=Decimal(12)),
        Wanted(title="Begun", mal_id="9"),
    ]


LISTS: list[dict[str, Any]] = [
    {"entries": [anilist_entry(1, 5, idMal=7, title={"romaji": "Akari", "english": None, "native": "灯り"})]},
    {"entries": [anilist_entry(2, title={"english": "B"}, format="NOVEL"), {"media": {"type": "ANIME"}}]},
    {"isCustomList": True, "entries": [anilist_entry(1, 5, title={"romaji": "Akari"})]},
]


@pytest.mark.parametrize(
    "shape",
    [
        {"data": {"MediaListCollection": {"lists": LISTS}}},
        {"user": {"name": "me"}, "lists": LISTS},
        [entry for group in LISTS for entry in group["entries"]],
    ],
)
def test_anilist_entries_are_found_in_every_wrapping(shape: Any) -> None:
    parsed = parse_anilist(orjson.dumps(shape).decode())
    assert parsed.wanted == [
        Wanted(title="Akari", other_titles=("灯り",), anilist_id="1", mal_id="7", read=Decimal(5))
    ]
    assert parsed.notes == ("2 anime and novels left out",)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", "12"),
        ("12.5", "12.5"),
        ("Ch. 7", "7"),
        ("chapter 7", "7"),
        ("3 / 40", "3"),
        (12, "12"),
        (1.5, "1.5"),
    ],
)
def test_chapter_numbers(text: object, number: str) -> None:
    assert chapter_number(text) == Decimal(number)


@pytest.mark.parametrize(
    "text", ["", "0", 0, "-1", "x", "1e9", "99999999", None, "NaN", float("inf"), "Vol 2"]
)
def test_what_is_no_chapter_number(text: object) -> None:
    assert chapter_number(text) is None


def test_x7_titles_are_one_printable_line() -> None:
    assert title_text("a\x00b\n\tc\x1b[31m\u202e") == "a b c [31m"
    assert len(title_text("x" * 10_000) or "") == 500
    assert title_text(" \n ") is None
    assert title_text(7) is None
