"""The SSRF guard (X4): it checks each connection as it is made, so no redirect or DNS trick gets past it."""

import asyncio
import contextlib
import functools
import ipaddress
import socket
import ssl
from collections.abc import Iterable

import certifi
import httpcore
import httpx

from fascicle.domain.errors import PermanentError, RetryableError

# Only this part of IPv6 leads to hosts; the rest is IPv4 in IPv6, NAT64, site-local, multicast, dummies.
_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
# Special-purpose ranges of IANA's registries that not every release of Python knows: ranges assigned to
# protocols, relays (6to4, AMT, Teredo), sinks (AS112), documentation, multicast.
_SPECIAL = [
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "224.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "2620:4f:8000::/48",
        "3fff::/20",
    )
]
_WEB_PORTS = (80, 443)


class HostGuard:
    """Decides which host and port may be contacted, and at which address."""

    def __init__(self, allow_hosts: Iterable[str] = ()) -> None:
        self._allowed = {host.lower() for host in allow_hosts}

    def is_allowed_by_name(self, host: str, port: int | None) -> bool:
        name = host.lower().strip("[]")
        return bool({name, f"{name}:{port}", f"[{name}]", f"[{name}]:{port}"} & self._allowed)

    def is_allowed_address(self, address: str, port: int) -> bool:
        """Has one of the allowed hosts this address? It looks names up: do not call it in the event loop."""
        wanted = _ip(address)
        named = [_host_and_port(entry) for entry in self._allowed]
        return wanted is not None and any(
            wanted in _ips_of(host) for host, only in named if only in (None, port)
        )

    async def resolve(self, host: str, port: int) -> list[str]:
        """The addresses to connect to. If one address of the name is not public, none is used."""
        if self.is_allowed_by_name(host, port):
            return [host]
        if port not in _WEB_PORTS:
            raise PermanentError(
                "blocked_address",
                f"{host}:{port} is not on a web port. If you trust it, add it to FASCICLE_ALLOW_HOSTS.",
            )
        addresses = await _lookup(host, port)
        if private := [a for a in addresses if not is_public(a)]:
            raise PermanentError(
                "blocked_address",
                f"{host} leads to the private address {private[0]}. "
                "If you trust it, add it to FASCICLE_ALLOW_HOSTS.",
            )
        return addresses


def _host_and_port(entry: str) -> tuple[str, int | None]:
    """Split `name`, `name:port`, an IPv6 address, or one in brackets with a port."""
    host, colon, port = entry.rpartition(":")
    if not colon or not port.isdecimal() or (":" in host and not host.endswith("]")):
        return entry.strip("[]"), None
    return host.strip("[]"), int(port)


def _ips_of(host: str) -> set[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    return {ip for entry in found if (ip := _ip(str(entry[4][0])))}


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an address; an IPv4 address written as IPv6 becomes the IPv4 address."""
    try:
        ip = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip


async def _lookup(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise RetryableError("dns_failed", f"The name {host} cannot be resolved: {error}.") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    try:
        ip = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is None and ip not in _GLOBAL_IPV6:
            return False
        ip = ip.ipv4_mapped or ip
    return ip.is_global and not any(ip in net for net in _SPECIAL if net.version == ip.version)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects only to addresses that the guard has checked. Host and SNI keep the name."""

    def __init__(self, guard: HostGuard) -> None:
        self._guard = guard
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._guard.resolve(host, port)
        for address in addresses[:-1]:
            with contextlib.suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
        return await self._backend.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise PermanentError("blocked_address", "Unix sockets are not fetched from.")

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


@functools.cache
def _tls() -> ssl.SSLContext:
    """Read the certificate authorities once for us and for httpx: it takes 40 ms."""
    return ssl.create_default_context(cafile=certifi.where())


def guarded_transport(guard: HostGuard) -> httpx.AsyncHTTPTransport:
    transport = httpx.AsyncHTTPTransport(verify=_tls(), trust_env=False)
    # httpx accepts no network backend from outside, so the pool is replaced before its first use.
    transport._pool = httpcore.AsyncConnectionPool(
        ssl_context=_tls(),
        network_backend=GuardedBackend(guard),
        max_connections=100,
        max_keepalive_connections=20,
        keepalive_expiry=30,
    )
    return transport
