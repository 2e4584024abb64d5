"""The key that seals payloads, and the keys that open them."""

from dataclasses import dataclass

from fascicle.storage.operations.keyring import Keyring, key_entries, parse_keys

# At the first place of FASCICLE_PAYLOAD_KEYS: the keys behind it only open, new payloads stay plain.
PLAIN = "plain"


@dataclass(frozen=True)
class PayloadKeys:
    ring: Keyring
    seals_with: str | None
    """None: payloads stay plain."""


NO_KEYS = PayloadKeys(Keyring({}), None)


def parse_payload_keys(text: str) -> PayloadKeys:
    """`id:base64,…`; the first key seals, `plain` in its place: none does. A ValueError shows no key."""
    entries = key_entries(text)
    is_plain = entries[:1] == [PLAIN]
    ring = Keyring(parse_keys(",".join(entries[is_plain:]), made_by="fascicle payload new-key"))
    return PayloadKeys(ring, None if is_plain else ring.first)
