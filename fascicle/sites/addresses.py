"""A site's addresses: its public ones, and those below its configured base address."""

from urllib.parse import urlsplit

from fascicle.domain.gate import GatePolicy
from fascicle.net.http import Gated


def path_on_site(url: str, base_url: str, *hosts: str) -> str | None:
    """The path of a URL that is on one of the site's hosts or below its base address; else None."""
    parts, base = urlsplit(url.strip()), urlsplit(base_url)
    if parts.hostname == base.hostname and parts.port == base.port:
        return parts.path.removeprefix(base.path)
    return parts.path if (parts.hostname or "").removeprefix("www.") in hosts else None


def site_gate(name: str, interval_seconds: float) -> Gated:
    """A gate with a low ceiling: one series that always fails must not delay all the others of the site."""
    return Gated(name, GatePolicy(floor=interval_seconds, ceiling=max(10.0, interval_seconds)))
