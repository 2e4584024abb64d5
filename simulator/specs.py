"""Specs of series and uploads: the inputs of the control API, of the client and of tests."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator


def to_utc_second(moment: datetime) -> datetime:
    """Upstream times have whole seconds; a time without a zone is taken as UTC."""
    zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return zoned.replace(microsecond=0)


Moment = Annotated[datetime, AfterValidator(to_utc_second)]
Identifier = Annotated[str, AfterValidator(lambda text: str(UUID(text)))]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]{2})?$")]
WebAddress = Annotated[str, StringConstraints(pattern=r"^https?://", max_length=512)]
ContentRating = Literal["safe", "suggestive", "erotica", "pornographic"]
SeriesStatus = Literal["ongoing", "completed", "hiatus", "cancelled"]
Demographic = Literal["shounen", "shoujo", "josei", "seinen"]
SiteName = Literal["mangadex", "mangaplus", "weebcentral", "inkpages", "panelbox"]


class Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class UploadSpec(Spec):
    """One upload of one chapter.

    Defaults of missing fields: `chapter` is the series' next number (but `chapter: null` is a oneshot),
    `created_at` is now, `publish_at` and `updated_at` are `created_at`, `readable_at` is `publish_at`, and
    `sites` are all sites of the series.
    """

    id: Identifier | None = None
    chapter: Annotated[str, StringConstraints(min_length=1, max_length=8)] | None = None
    volume: str | None = None
    title: Annotated[str, StringConstraints(max_length=255)] | None = None
    language: Language | None = None
    groups: tuple[str, ...] | None = None
    uploader: str = "simulator"
    external_url: WebAddress | None = None
    pages: Annotated[int, Field(ge=0)] | None = None
    is_unavailable: bool = False
    created_at: Moment | None = None
    updated_at: Moment | None = None
    publish_at: Moment | None = None
    readable_at: Moment | None = None
    sites: tuple[SiteName, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_group_by_name(cls, given: Any) -> Any:
        """`group` is short for a single entry in `groups`, `group: null` for none."""
        if not isinstance(given, dict) or "group" not in given:
            return given
        rest = {name: value for name, value in given.items() if name != "group"}
        return rest | {"groups": [] if given["group"] is None else [given["group"]]}


class SeriesSpec(Spec):
    """A series and its history.

    `chapters` is their number (evenly spaced, in every language), or a list of uploads.
    With `resets`, numbers restart with each volume. `sites` are those that carry the series.
    """

    title: Annotated[str, StringConstraints(min_length=1)]
    id: Identifier | None = None
    chapters: Annotated[int, Field(ge=0, le=100_000)] | tuple[UploadSpec, ...] = 0
    languages: Annotated[tuple[Language, ...], Field(min_length=1)] = ("en",)
    groups: tuple[str, ...] = ("Example Scans",)
    resets: bool = False
    chapters_per_volume: Annotated[int, Field(ge=1)] | None = None
    release_interval_hours: Annotated[float, Field(gt=0)] = 168
    status: SeriesStatus = "ongoing"
    content_rating: ContentRating = "safe"
    original_language: Language = "ja"
    alt_titles: tuple[dict[str, str], ...] = ()
    description: dict[str, str] = {}
    links: dict[str, str] = {}
    official_links: dict[str, str] | None = None
    year: int | None = None
    demographic: Demographic | None = None
    tags: tuple[str, ...] = ()
    author: str = "A. N. Author"
    sites: Annotated[tuple[SiteName, ...], Field(min_length=1)] = ("mangadex",)
