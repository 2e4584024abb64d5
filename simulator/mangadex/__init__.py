"""The MangaDex API, version 5, as far as a reader of chapter lists needs it."""

from simulator.mangadex.site import MangaDex, title_page

__all__ = ["MangaDex", "title_page"]
