"""The position of a reader in a list."""

from urllib.parse import quote

from pydantic import BaseModel

from fascicle.sites.declarative.description import Paging


class Position(BaseModel):
    """A place in a list, as the opaque cursor between two pages."""

    turn: int = 1
    at: str = ""
    """The address (by link) or token (by cursor) of this page; empty for the first one"""
    seen: list[str] = []
    """Fingerprints of the pages before"""

    @classmethod
    def of(cls, cursor: str | None) -> "Position":
        return cls.model_validate_json(cursor) if cursor else cls()

    def url(self, template: str, paging: Paging | None) -> str:
        if paging is None:
            return template
        if paging.by == "link":
            return self.at or template
        number = paging.first + self.turn - 1
        return template.replace("{page}", str(number)).replace("{cursor}", quote(self.at, safe=""))

    def next(self, at: str) -> str:
        """The cursor of the page after this one, which is at `at`."""
        return Position(turn=self.turn + 1, at=at, seen=self.seen).model_dump_json()
