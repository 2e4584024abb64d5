"""Which addresses may be contacted (X4)."""

import pytest

from fascicle.domain.errors import PermanentError
from fascicle.net import ssrf
from fascicle.net.ssrf import HostGuard, is_public


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
     "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1",
     "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
     "not an address", "::7f00:1", "::ffff:0:7f00:1",
     "192.0.0.8", "192.0.0.9", "192.0.0.170", "192.88.99.1", "192.31.196.1", "192.52.193.1", "192.175.48.1",
     "198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "::ffff:192.88.99.1", "3fff::1", "3fff:fff::1",
     "5f00::1", "100::1", "100:0:0:1::1", "2001::1", "2001:1::1", "2001:2::1", "2001:4:112::1", "2001:10::1",
     "2001:20::1", "2001:30::1", "2001:db8::1", "2620:4f:8000::1", "64:ff9b:1::1", "4000::1", "fdff::1"],
)  # fmt: skip
def test_x4_private_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.216.34",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "2a00:1450:4001::1",
        "3ffd::1",
        "192.0.1.1",
        "::ffff:1.1.1.1",
    ],
)
def test_x4_public_addresses_are(address: str) -> None:
    assert is_public(address)


async def test_x4_one_private_address_among_several_condemns_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    monkeypatch.setattr(ssrf, "_lookup", lookup)
    with pytest.raises(PermanentError, match="FASCICLE_ALLOW_HOSTS"):
        await HostGuard().resolve("rebinding.example", 443)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0x7f000001", "2130706433", "127.1"])
async def test_x4_every_spelling_of_loopback_is_refused(host: str) -> None:
    with pytest.raises(PermanentError) as blocked:
        await HostGuard().resolve(host, 80)
    assert blocked.value.code == "blocked_address"


async def test_x4_only_web_ports_unless_allowed() -> None:
    with pytest.raises(PermanentError, match="web port"):
        await HostGuard().resolve("example.com", 5432)


@pytest.mark.parametrize(
    ("allowed", "host", "port", "opens"),
    [
        ("127.0.0.1", "127.0.0.1", 8900, True),
        ("127.0.0.1:8900", "127.0.0.1", 8900, True),
        ("127.0.0.1:8900", "127.0.0.1", 8901, False),
        ("Sim.Local", "sim.local", 80, True),
        ("[::1]:80", "::1", 80, True),
        ("example.com", "evil-example.com", 80, False),
    ],
)
def test_allow_hosts_opens_exactly_what_it_names(allowed: str, host: str, port: int, opens: bool) -> None:
    assert HostGuard([allowed]).is_allowed_by_name(host, port) is opens
