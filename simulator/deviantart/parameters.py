"""Reading the fields of forms and queries the way DeviantArt does."""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl

from starlette.requests import Request

from simulator.deviantart.errors import ApiError
from simulator.deviantart.records import FormValues

TRUE, FALSE = {"1", "true", "yes"}, {"", "0", "false", "no"}
TAG = re.compile(r"[A-Za-z0-9_]+")
MAX_TAGS = 30


def gather(pairs: Iterable[tuple[str, str]]) -> FormValues:
    values: FormValues = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


async def read_form(request: Request) -> FormValues:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip()
    body = await request.body()
    if body and content_type != "application/x-www-form-urlencoded":
        raise ApiError("The request must be form encoded.")
    return gather(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def text(values: FormValues, name: str) -> str:
    """The value, or an empty text if the field is missing."""
    return values.get(name, [""])[-1]


def flag(values: FormValues, name: str) -> bool:
    value = text(values, name).lower()
    if value not in TRUE | FALSE:
        raise ApiError(f"{name} must be a boolean.")
    return value in TRUE


def whole_number(values: FormValues, name: str, default: int | None, least: int, most: int) -> int:
    given = text(values, name)
    if not given and default is not None:
        return default
    if not given.isascii() or not given.isdecimal() or not least <= int(given) <= most:
        raise ApiError(f"{name} must be a number from {least} to {most}.")
    return int(given)


def tags(values: FormValues) -> list[str]:
    if any(name == "tags" or re.fullmatch(r"tags\[.+\]", name) for name in values):
        raise ApiError("tags must be repeated fields named tags[].")
    found = values.get("tags[]", [])
    if len(found) > MAX_TAGS:
        raise ApiError(f"There can be no more than {MAX_TAGS} tags.")
    if wrong := [tag for tag in found if not TAG.fullmatch(tag)]:
        raise ApiError(f"Tags are made of letters, digits and underscores: {wrong[0]!r} is not.")
    return found
