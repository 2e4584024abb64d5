"""The part of the MangaDex API, version 5, that a reader of chapter lists needs."""

from simulator.mangadex.site import MangaDex, title_page

__all__ = ["MangaDex", "title_page"]
