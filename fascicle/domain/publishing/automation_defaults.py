"""An automation's values for the options that a draft left unset (P7), and the prices of sales."""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator, model_validator

from fascicle.domain.errors import UsageError
from fascicle.domain.publishing.post import MAX_DESCRIPTION, MAX_TAG, MAX_TAGS

Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$", max_length=MAX_TAG)]
Word = Annotated[str, Field(min_length=1, max_length=200)]


class AutomationDefaults(BaseModel):
    """Each field is the column of `post` with the same name; None: the automation has no default for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: Annotated[str, Field(max_length=MAX_DESCRIPTION)] | None = None
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS)] | None = None
    is_mature: bool | None = None
    mature_level: Literal["strict", "moderate"] | None = None
    mature_classification: list[Literal["nudity", "sexual", "gore", "language", "ideology"]] | None = None
    gallery_ids: Annotated[list[Word], Field(max_length=100)] | None = None
    display_resolution: Annotated[int, Field(ge=0, le=8)] | None = None
    feature: bool | None = None
    allow_comments: bool | None = None
    allow_free_download: bool | None = None
    add_watermark: bool | None = None
    is_ai_generated: bool | None = None
    noai: bool | None = None

    @field_validator("description")
    @classmethod
    def _storable(cls, value: str | None) -> str | None:
        if value is not None and "\0" in value:
            raise ValueError("text has no zero bytes")
        return value

    @model_validator(mode="after")
    def _publishable(self) -> Self:
        if self.is_mature and self.mature_level is None:
            raise ValueError("is_mature needs its mature_level: strict or moderate")
        return self

    def filling(self, post: Mapping[str, Any]) -> dict[str, Any]:
        """The values for the post's unset options: only None is unset; false, 0, '' and [] are choices."""
        given = self.model_dump(exclude_none=True)
        return {name: value for name, value in given.items() if post[name] is None}


DEFAULTED = tuple(AutomationDefaults.model_fields)
_AMOUNT = re.compile(r"\d{1,7}(\.\d{1,2})?", re.ASCII)
_LISTS = ("tags", "mature_classification", "gallery_ids")


class Points(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    points: int = Field(ge=1, le=1_000_000)


class Money(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    amount: str
    """A decimal number as text: money is never a float."""
    currency: str = Field(pattern=r"^[A-Z]{3}$")

    @field_validator("amount")
    @classmethod
    def _positive(cls, value: str) -> str:
        try:
            amount = Decimal(value)
        except InvalidOperation:
            raise ValueError("must be a number such as 12.50") from None
        if not _AMOUNT.fullmatch(value) or amount <= 0:
            raise ValueError("must be a number such as 12.50, above 0")
        return value


Price = Points | Money
_PRICE: TypeAdapter[Price] = TypeAdapter(Price)


def parse_price(value: Any) -> Price:
    """A price preset from its JSON, or pydantic's ValidationError."""
    return _PRICE.validate_python(value)


def price_in_words(price: Mapping[str, Any]) -> str:
    if "points" in price:
        return f"{price['points']} points"
    return f"{price.get('amount', '?')} {price.get('currency', '?')}"


def value_of(name: str, text: str) -> Any:
    """The value that `--default name=text` means: lists are separated by commas."""
    if name not in DEFAULTED:
        raise UsageError("wrong_usage", f"{name!r} has no default. There are: {', '.join(DEFAULTED)}.")
    if name in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text
