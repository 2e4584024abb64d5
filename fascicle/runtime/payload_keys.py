"""Which keys payloads are sealed with, and which can be opened."""

from dataclasses import dataclass

from fascicle.storage.keyring import Keyring, key_entries, parse_keys

# In the first place of FASCICLE_PAYLOAD_KEYS: the keys behind it only open, what is new stays plain.
PLAIN = "plain"


@dataclass(frozen=True)
class PayloadKeys:
    ring: Keyring
    seals_with: str | None
    """None: payloads stay plain."""


NO_KEYS = PayloadKeys(Keyring({}), None)


def parse_payload_keys(text: str) -> PayloadKeys:
    """`id:base64,…`, the first for new ones, or `plain` in its place. A ValueError, which shows no key."""
    entries = key_entries(text)
    is_plain = entries[:1] == [PLAIN]
    ring = Keyring(parse_keys(",".join(entries[is_plain:]), made_by="fascicle payload new-key"))
    return PayloadKeys(ring, None if is_plain else ring.first)
