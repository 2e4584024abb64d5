"""MyAnimeList's export of a manga list (XML). AniList and others can write the same form."""

from xml.etree.ElementTree import Element

from fascicle.imports.wanted import Parsed, Wanted, chapter_number, title_text, tracker_id, unusable
from fascicle.imports.xml import parse_xml


def parse_mal(data: bytes) -> Parsed:
    root = parse_xml(data)
    if root.tag != "myanimelist":
        raise unusable(f"This is XML, but no MyAnimeList export: its root is <{root.tag[:50]}>.")
    if root.find("manga") is None and root.find("anime") is not None:
        raise unusable("This is an anime list. Export the manga list: myanimelist.net/panel.php?go=export")
    return Parsed([wanted for entry in root.iter("manga") if (wanted := _wanted(entry))])


def _wanted(entry: Element) -> Wanted | None:
    wanted = Wanted(
        title=title_text(entry.findtext("manga_title")),
        mal_id=tracker_id(entry.findtext("manga_mangadb_id")),
        anilist_id=tracker_id(entry.findtext("manga_anilist_id")),
        read=chapter_number(entry.findtext("my_read_chapters")),
    )
    return wanted if wanted.title else None
