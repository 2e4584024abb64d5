"""The route of a mail: the operator's mail server if there is one, else the owner's own channels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from fascicle.settings.settings import Settings


@dataclass(frozen=True)
class Route:
    """`trusted`: the operator named it, so it may be on a private address."""

    url: str = field(repr=False)
    trusted: bool


def routes(settings: Settings, email: str | None, channels: Sequence[str]) -> list[Route]:
    """The routes to a person, best first; one success is enough. Empty: nothing is configured."""
    if settings.mail_url is not None:
        return [Route(settings.mail_url.get_secret_value(), trusted=True)]
    recipient = email or settings.mail_to
    if settings.smtp_host is not None and recipient is not None:
        return [Route(_smtp_url(settings, settings.smtp_host, recipient), trusted=True)]
    return [Route(url, trusted=False) for url in channels]


def _smtp_url(settings: Settings, host: str, recipient: str) -> str:
    scheme = "mailto" if settings.smtp_security == "insecure" else "mailtos"
    credentials = ""
    if settings.smtp_user is not None:
        password = settings.smtp_password.get_secret_value() if settings.smtp_password else ""
        credentials = f"{quote(settings.smtp_user, safe='')}:{quote(password, safe='')}@"
    query = {
        # Given separately: otherwise Apprise guesses a provider's server from the address.
        "smtp": host,
        "from": _sender(settings, recipient),
        "to": recipient,
        "mode": settings.smtp_security,
        "format": "text",
    }
    return f"{scheme}://{credentials}{host}:{settings.smtp_port}/?{urlencode(query, quote_via=quote)}"


def _sender(settings: Settings, recipient: str) -> str:
    """Without a configured sender, the recipient is the sender: an invented address would be refused."""
    if settings.smtp_from is not None:
        return settings.smtp_from
    user = settings.smtp_user or ""
    return user if "@" in user else recipient
