"""The address of a database, as people write it."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, quote_plus, unquote

_DRIVERS = ("postgres", "postgresql", "postgresql+asyncpg")
# SQLAlchemy's own pattern, so that both accept the same URLs.
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
    driver: str

    def masked(self, mask: str) -> str:
        """The URL as SQLAlchemy prints it for people; passwords in the query are masked too."""
        user = "" if self.user is None else quote(self.user, safe=" +")
        password = "" if self.password is None else ":***"
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host or ""
        shown = f"{self.driver}://" + (f"{user}{password}@" if self.user is not None else "") + host
        shown += "" if self.port is None else f":{self.port}"
        shown += "" if self.database is None else f"/{quote(self.database, safe=' +/')}"
        values = {key: mask if "pass" in key.lower() else value for key, value in self.query.items()}
        query = "&".join(f"{quote_plus(key)}={quote_plus(values[key])}" for key in sorted(values))
        return f"{shown}?{query}" if query else shown


def parse_database_url(text: str) -> DatabaseUrl:
    """Raises ValueError for anything but a PostgreSQL URL."""
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
        driver=match["driver"],
    )


def _decoded(part: str | None) -> str | None:
    return None if part is None else unquote(part)
