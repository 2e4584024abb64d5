"""The address of a database, as people write it."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

_DRIVERS = ("postgres", "postgresql", "postgresql+asyncpg")
# SQLAlchemy's own pattern: what is accepted here is what it can use.
_URL = re.compile(
    r"""(?P<driver>[\w\+]+)://
        (?:(?P<user>[^:/]*)(?::(?P<password>[^@]*))?@)?
        (?:(?:\[(?P<ipv6>[^/\?]+)\]|(?P<host>[^/:\?]+))?(?::(?P<port>[^/\?]*))?)?
        (?:/(?P<database>[^\?]*))?
        (?:\?(?P<query>.*))?""",
    re.X,
)


@dataclass(frozen=True)
class DatabaseUrl:
    user: str | None
    password: str | None
    host: str | None
    port: int | None
    database: str | None
    query: dict[str, str]


def parse_database_url(text: str) -> DatabaseUrl:
    """A ValueError for what is no PostgreSQL URL."""
    match = _URL.match(text)
    if match is None or match["driver"] not in _DRIVERS or not (match["port"] or "0").isdecimal():
        raise ValueError("not a PostgreSQL URL")
    return DatabaseUrl(
        user=_decoded(match["user"]),
        password=_decoded(match["password"]),
        host=match["ipv6"] or match["host"],
        port=int(match["port"]) if match["port"] else None,
        database=match["database"] or None,
        query=dict(parse_qsl(match["query"] or "")),
    )


def _decoded(part: str | None) -> str | None:
    return None if part is None else unquote(part)
