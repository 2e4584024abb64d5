"""Small files of every format, and ways to spoil them."""

import gzip
from typing import Any

from fascicle.imports.tachibk import backup_type

UUID = "a96676e5-8ae2-425e-b549-7f15dd34a6d8"
ULID = "01J76XY7E9FNDZ1DBBM6PBJPFK"
MANGADEX, WEEBCENTRAL, MANGAPLUS, ELSEWHERE = 2499283573021220255, 2, 3, -4

NO_NUMBER = -1.0


def manga(title: str, url: str, source: int = MANGADEX, **fields: Any) -> dict[str, Any]:
    return {"source": source, "url": url.encode(), "title": title.encode(), **fields}


def chapters(*numbers: float, read: bool = True) -> list[dict[str, Any]]:
    return [{"number": number, "read": read} for number in numbers]


def backup(*series: dict[str, Any]) -> bytes:
    names = {MANGADEX: b"MangaDex", WEEBCENTRAL: b"Weeb Central", MANGAPLUS: b"MANGA Plus by SHUEISHA",
             ELSEWHERE: b"Somewhere"}  # fmt: skip
    sources = [{"id": number, "name": name} for number, name in names.items()]
    content: bytes = backup_type()(manga=series, sources=sources).SerializeToString()
    return content


def tachibk(*series: dict[str, Any]) -> bytes:
    return gzip.compress(backup(*series))


def mal(*entries: str) -> bytes:
    head = "<?xml version='1.0' encoding='UTF-8' ?><!-- made up --><myanimelist><myinfo/>"
    return f"{head}{''.join(entries)}</myanimelist>".encode()


def mal_entry(title: str, mal_id: int = 1, read: object = 0, status: str = "Reading") -> str:
    return (
        f"<manga><manga_mangadb_id>{mal_id}</manga_mangadb_id><manga_title><![CDATA[{title}]]></manga_title>"
        f"<my_read_chapters>{read}</my_read_chapters><my_status>{status}</my_status></manga>"
    )


def anilist_entry(media_id: int, progress: int = 0, /, **media: Any) -> dict[str, Any]:
    return {"progress": progress, "status": "CURRENT", "media": {"id": media_id, "type": "MANGA", **media}}
