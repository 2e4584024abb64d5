"""SQL statements for both engines: SQLAlchemy's, and the plain one of commands that only read.

SQLAlchemy takes longer to load than a whole listing may take. So a statement stays text until SQLAlchemy
needs more.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from sqlalchemy import TextClause


def text(sql: str, *, jsonb: Sequence[str] = (), jsonb_or_null: Sequence[str] = ()) -> "TextClause":
    """SQLAlchemy's `text`. `jsonb` names parameters that are JSON; of `jsonb_or_null`, None is SQL's null."""
    return cast("TextClause", Statement(sql, jsonb, jsonb_or_null))


class Statement:
    """Stands in for SQLAlchemy's TextClause, which is created when anything but the text is used."""

    def __init__(self, sql: str, jsonb: Sequence[str], jsonb_or_null: Sequence[str]) -> None:
        self.sql = sql
        self._typed = (tuple(jsonb), tuple(jsonb_or_null))

    def __getattr__(self, name: str) -> Any:
        return getattr(_clause(self.sql, *self._typed), name)


# Many functions write their statement where they use it: the cache parses each text only once.
@lru_cache(maxsize=1024)
def _clause(sql: str, jsonb: tuple[str, ...], jsonb_or_null: tuple[str, ...]) -> "TextClause":
    import sqlalchemy
    from sqlalchemy.dialects.postgresql import JSONB

    return sqlalchemy.text(sql).bindparams(
        *(sqlalchemy.bindparam(name, type_=JSONB) for name in jsonb),
        *(sqlalchemy.bindparam(name, type_=JSONB(none_as_null=True)) for name in jsonb_or_null),
    )
