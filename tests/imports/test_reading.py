"""C14: formats are recognised; X7: what cannot be read is told in a sentence."""

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from fascicle.domain.errors import UsageError
from fascicle.imports import reading
from fascicle.imports.reading import Format, ImportFile, read_import
from tests.imports.examples import UUID, backup, mal, mal_entry, manga, tachibk

URL = f"https://mangadex.org/title/{UUID}"
BACKUP = backup(manga("Lanterns of the long night", f"/manga/{UUID}"))
LAUGHS = b"<!DOCTYPE x [" + b"".join(
    f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>".encode() for n in range(1, 9)
) + b"]><myanimelist>&a8;</myanimelist>"  # fmt: skip

Read = Callable[..., ImportFile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def write_and_read(name: str, content: bytes, wished: Format = Format.AUTO) -> ImportFile:
        path = tmp_path / name
        path.write_bytes(content)
        return read_import(path, wished, lambda url: "mangadex" in url)

    return write_and_read


RECOGNISED = [
    ("list.txt", f"# mine\n{URL}\n{URL}\nnot a url\n".encode(), Format.URLS),
    ("list", URL.encode("utf-16"), Format.URLS),
    ("list.csv", f"url,read\n{URL},3\n".encode("utf-8-sig"), Format.CSV),
    ("titles.txt", "Caf\xe9 Nocturne\nLanterns\n".encode("cp1252"), Format.CSV),
    ("feeds.opml", f'<opml><body><outline htmlUrl="{URL}"/></body></opml>'.encode(), Format.OPML),
    ("my.xml", mal(mal_entry("Lanterns")), Format.MAL),
    ("my.xml.gz", gzip.compress(mal(mal_entry("Lanterns"))), Format.MAL),
    ("al.json", b'[{"media": {"title": "Lanterns"}}]', Format.ANILIST),
    ("a.tachibk", gzip.compress(BACKUP), Format.TACHIBK),
    ("renamed", gzip.compress(BACKUP), Format.TACHIBK),
    ("a.proto.gz", gzip.compress(BACKUP), Format.TACHIBK),
    ("a.tachibk", BACKUP, Format.TACHIBK),
]


@pytest.mark.parametrize(("name", "content", "kind"), RECOGNISED, ids=[row[0] for row in RECOGNISED])
def test_c14_formats_are_recognised(read: Read, name: str, content: bytes, kind: Format) -> None:
    assert read(name, content).format is kind


UNUSABLE = [
    ("empty.txt", b"", "is empty"),
    ("blank.txt", b" \n\n", "is empty"),
    ("comments.txt", b"# https://nothing\n", "no series"),
    ("a.tachibk", gzip.compress(BACKUP)[:-12], "damaged or incomplete"),
    ("a.tachibk", gzip.compress(BACKUP)[:5], "damaged or incomplete"),
    ("a.tachibk", gzip.compress(BACKUP[:-9]), "damaged or incomplete"),
    ("a.tachibk", gzip.compress(b"\x02\x03\x00\x00"), "no Tachiyomi"),
    ("a.tachibk", gzip.compress(b""), "is empty"),
    ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(500), "a picture"),
    ("png.tachibk", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(500), "a picture"),
    ("a.zip", b"PK\x03\x04\x14\0" + bytes(50), "unpack it first"),
    ("noise.bin", Random(1).randbytes(2000), "nothing that can be imported"),
    ("bomb.xml", LAUGHS, "entities"),
    ("half.xml", mal(mal_entry("Lanterns"))[:-9], "damaged or incomplete"),
    ("other.xml", b"<rss><channel/></rss>", "neither OPML nor"),
    ("anime.xml", b"<myanimelist><anime/></myanimelist>", "Export the manga list"),
    ("deep.json", b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    ("half.json", b'[{"media": {"title": "Lan', "damaged"),
    ("other.json", b'{"a": [1, 2, {"b": null}]}', "no AniList export"),
    ("feeds.opml", b'<opml><body><outline xmlUrl="https://x.example/rss"/></body></opml>', "1 feeds"),
    ("many.txt", f"{URL}\n".encode() * 20_001, "20,001 series are too many"),
    ("wide.csv", b"title,url\n" + b'"' + b"x" * 200_000 + b'",\n', "no readable CSV"),
]


@pytest.mark.parametrize(("name", "content", "words"), UNUSABLE, ids=[row[0] for row in UNUSABLE])
def test_x7_what_cannot_be_used_is_told(read: Read, name: str, content: bytes, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(name, content)
    assert words in refused.value.message
    assert len(refused.value.message) < 300


def test_x7_a_bomb_is_left_when_it_grows_too_large(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_BYTES", 5_000_000)
    with pytest.raises(UsageError, match="larger than 5 MB"):
        read("bomb.tachibk", gzip.compress(bytes(50_000_000), 1))


def test_x7_a_huge_file_is_not_even_opened(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(UsageError, match="larger than 100 MB"):
        read_import(path, Format.AUTO, bool)


@pytest.mark.parametrize(("name", "words"), [("", "not a file"), ("none.txt", "no file")])
def test_x7_what_is_no_file(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_import(tmp_path / name, Format.AUTO, bool)


def test_x7_a_deep_tree_is_read_without_trouble(read: Read) -> None:
    deep = b"<outline>" * 50_000 + f'<outline url="{URL}"/>'.encode() + b"</outline>" * 50_000
    assert len(read("deep.opml", b"<opml>" + deep + b"</opml>").wanted) == 1


def test_x7_a_control_character_does_not_spoil_a_file(read: Read) -> None:
    rows = b"".join(f"Series {n},{URL}\n".encode() for n in range(20))
    file = read("list.csv", b"title,url\n" + rows + f"Bad\0 \x1b[31mone,{URL}\n".encode())
    assert file.wanted[-1].title == "Bad [31mone"


def test_x7_text_is_not_read_beyond_its_limit(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_TEXT_BYTES", 1000)
    with pytest.raises(UsageError, match="split it"):
        read("long.txt", f"{URL}\n".encode() * 50)


def test_a_format_that_was_asked_for_is_believed(read: Read) -> None:
    assert read("x", f"{URL}\nLanterns\n".encode(), Format.CSV).wanted[1].title == "Lanterns"
    with pytest.raises(UsageError, match="not text, so it is not csv"):
        read("y", BACKUP, Format.CSV)
    with pytest.raises(UsageError, match="no OPML"):
        read("z", mal(mal_entry("x")), Format.OPML)


def test_the_digest_is_of_contents_and_format(read: Read) -> None:
    first = read("a.txt", f"{URL}\n".encode())
    assert read("b.txt", f"{URL}\n".encode()).digest == first.digest
    assert read("a.txt", f"{URL}\n".encode(), Format.CSV).digest != first.digest
    assert read("a.txt", f"{URL}\n\n".encode()).digest != first.digest


def test_backups_of_a_thousand_series_are_read_quickly(read: Read) -> None:
    many = [manga(f"Series {n}", f"/manga/{UUID}") for n in range(1000)]
    assert len(read("a.tachibk", tachibk(*many)).wanted) == 1000
