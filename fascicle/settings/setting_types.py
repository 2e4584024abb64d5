"""The types of settings: lists, ranges, addresses, as people write them in an environment."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

from fascicle.domain.errors import UsageError
from fascicle.domain.urls import parse_http_url


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _http_base(value: str) -> str:
    try:
        parse_http_url(value)
    except UsageError as error:
        raise ValueError(error.message) from error
    return value.rstrip("/")


CommaList = Annotated[list[str], NoDecode, BeforeValidator(_split)]
CommaFloats = Annotated[list[Annotated[float, Field(ge=0)]], NoDecode, BeforeValidator(_split)]


def _ordered(value: list[float]) -> list[float]:
    if len(value) == 1:
        value = value * 2
    if len(value) != 2 or value[0] > value[1]:
        raise ValueError("must be two numbers, the smaller first: 10,20")
    return value


Range = Annotated[CommaFloats, AfterValidator(_ordered)]
BaseUrl = Annotated[str, BeforeValidator(_http_base)]
Seconds = Annotated[float, Field(gt=0)]
Port = Annotated[int, Field(ge=0, le=65535)]
