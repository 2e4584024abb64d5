"""Works and series: the specs that create them, and the stored records."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Id = Annotated[int, Field(ge=1)]
Text = Annotated[str, StringConstraints(min_length=1)]
ADULT_RATINGS = frozenset({"Mature", "Explicit", "Not Rated"})
FIRST_DAY = date(2026, 1, 5)


class Place(BaseModel):
    """A work's place in a series; without `part`, the next one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    series: Id
    part: Annotated[int, Field(ge=1)] | None = None


class WorkSpec(BaseModel):
    """A work. `summary` is HTML as its author wrote it; everything else is plain text.

    Without `adult`, the rating decides. `redirect_to` sends every visitor to that address. `broken` is a page
    without its header, `broken_blurb` an entry without its heading wherever the work is listed. `padding` is
    a number of bytes of story text. `translators` and `inspired_by` are on the page, but are not authors.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Id | None = None
    title: Text = "Untitled"
    authors: tuple[str, ...] = ("an_author",)
    fandoms: tuple[str, ...] = ("Original Work",)
    relationships: tuple[str, ...] = ()
    characters: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ("No Archive Warnings Apply",)
    categories: tuple[str, ...] = ()
    rating: str = "General Audiences"
    language: str = "English"
    words: Annotated[int, Field(ge=0)] = 1000
    chapters: Annotated[int, Field(ge=1)] = 1
    chapters_total: Annotated[int, Field(ge=1)] | None = 1
    """None: `3/?`."""
    summary: str | None = "<p>Somebody does something.</p>"
    published_on: date = FIRST_DAY
    updated_on: date | None = None
    series: tuple[Place, ...] = ()
    translators: tuple[str, ...] = ()
    inspired_by: tuple[str, ...] = ()
    adult: bool | None = None
    restricted: bool = False
    unrevealed: bool = False
    deleted: bool = False
    anonymous: bool = False
    redirect_to: str | None = None
    broken: bool = False
    broken_blurb: bool = False
    padding: Annotated[int, Field(ge=0)] = 0

    @property
    def is_adult(self) -> bool:
        return self.rating in ADULT_RATINGS if self.adult is None else self.adult


class Work(WorkSpec):
    id: Id
    change_token: int = 1_767_600_000
    """UNIX time of the last change, as links to downloads contain it."""

    def chapter_ids(self) -> list[int]:
        return [self.id * 1000 + number for number in range(1, self.chapters + 1)]

    @property
    def is_chaptered(self) -> bool:
        return self.chapters > 1 or self.chapters_total != 1

    @property
    def chapter_count(self) -> str:
        return f"{self.chapters}/{self.chapters_total or '?'}"


class Ao3SeriesSpec(BaseModel):
    """A series; `works` are ids of existing works, part 1 first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Id | None = None
    title: Text = "A Series"
    authors: tuple[str, ...] = ("an_author",)
    summary: str | None = None
    complete: bool = False
    works: tuple[Id, ...] = ()


class Ao3Series(Ao3SeriesSpec):
    id: Id
    parts: dict[int, int] = {}
    """Ids of works by part number."""


class Saved(BaseModel):
    last_id: int = 0
    changes: int = 0
    works: dict[int, Work] = {}
    series: dict[int, Ao3Series] = {}
