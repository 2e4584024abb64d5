"""Reading MangaDex's query strings, as strictly as the real API."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from urllib.parse import parse_qsl
from uuid import UUID

from simulator.mangadex.errors import ApiError, InvalidParameterError

RESULT_WINDOW = 10_000
MAX_IDS = 100
LIST_ITEM = re.compile(r"^(\w+)\[\d*\]$")
ORDER = re.compile(r"^order\[(\w+)\]$")
LANGUAGE = re.compile(r"^[a-zA-Z\-]{2,5}$")
MOMENT = re.compile(r"^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d$")

Order = tuple[tuple[str, bool], ...]


class Parameters:
    """The parameters of one request. Reading a parameter removes it; `refuse_rest` refuses what is left."""

    def __init__(self, query_string: bytes) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
            item = LIST_ITEM.match(name)
            self._values.setdefault(item[1] if item else name, []).append(value)

    def text(self, name: str) -> str | None:
        return self._values.pop(name, [None])[-1]

    def whole_number(self, name: str, default: int, minimum: int, maximum: int | None = None) -> int:
        given = self.text(name)
        if given is None:
            return default
        if not re.fullmatch(r"-?\d+", given):
            raise InvalidParameterError(name, "The data must match the type: integer")
        if int(given) < minimum:
            raise InvalidParameterError(name, f"Number must be greater than or equal to {minimum}")
        if maximum is not None and int(given) > maximum:
            raise InvalidParameterError(name, f"Number must be lower than or equal to {maximum}")
        return int(given)

    def page(self, default: int, minimum: int, maximum: int) -> tuple[int, int]:
        """Limit and offset, which together may not reach past the result window."""
        limit = self.whole_number("limit", default, minimum, maximum)
        offset = self.whole_number("offset", 0, 0)
        if offset + limit > RESULT_WINDOW:
            raise ApiError(
                400,
                "Result window is too large, from + size must be less than or equal to: "
                f"[{RESULT_WINDOW}] but was [{offset + limit}]",
            )
        return limit, offset

    def texts(self, name: str, allowed: Collection[str] | None = None) -> frozenset[str]:
        values = self._values.pop(name, [])
        for position, value in enumerate(values):
            if allowed is not None and value not in allowed:
                raise InvalidParameterError(f"{name}/{position}", "Does not have a value in the enumeration")
        return frozenset(values)

    def languages(self, name: str) -> frozenset[str]:
        values = self.texts(name)
        for value in values:
            if not LANGUAGE.match(value):
                raise InvalidParameterError(name, f"Does not match the regex pattern {LANGUAGE.pattern}")
        return values

    def ids(self, name: str, at_most: int | None = None) -> tuple[str, ...]:
        values = self._values.pop(name, [])
        if at_most is not None and len(values) > at_most:
            raise InvalidParameterError(name, f"There must be at most {at_most} items in the array")
        return tuple(dict.fromkeys(_uuid(name, value) for value in values))

    def one_id(self, name: str) -> str | None:
        given = self.text(name)
        return None if given is None else _uuid(name, given)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """True for 1, False for 0, the default if the parameter is missing."""
        given = self.text(name)
        if given not in (None, "0", "1"):
            raise InvalidParameterError(name, "Does not have a value in the enumeration [0,1]")
        return default if given is None else given == "1"

    def moment(self, name: str) -> datetime | None:
        given = self.text(name)
        if given is None:
            return None
        try:
            if not MOMENT.match(given):
                raise ValueError
            return datetime.fromisoformat(given).replace(tzinfo=UTC)
        except ValueError:
            raise InvalidParameterError(
                name, "Must be a time like 2026-11-16T06:30:00, without a zone"
            ) from None

    def order(self, fields: Collection[str]) -> Order:
        """Pairs of a field and whether it descends, in the order of the query string."""
        asked = [(match[1], match[0]) for match in map(ORDER.match, self._values) if match]
        for field, _ in asked:
            if field not in fields:
                raise InvalidParameterError("order", f"Additional properties not allowed: {field}")
        return tuple((field, self._descends(name)) for field, name in asked)

    def _descends(self, name: str) -> bool:
        direction = self.text(name)
        if direction not in ("asc", "desc"):
            raise InvalidParameterError(name, 'Does not have a value in the enumeration ["asc","desc"]')
        return direction == "desc"

    def refuse_rest(self) -> None:
        # If unknown parameters were ignored, tests would not notice a mistyped or unsimulated filter.
        for name in self._values:
            raise InvalidParameterError(name, f"Additional properties not allowed: {name} (or not simulated)")


def _uuid(name: str, text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise InvalidParameterError(name, f"{text!r} is not a valid UUID") from None
