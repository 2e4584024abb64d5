"""Keys for payloads that everybody may know."""

import base64

from fascicle.settings.payload_keys import PayloadKeys, parse_payload_keys

_FILL = {"old": 1, "new": 2}


def line(key_id: str, fill: int) -> str:
    return f"{key_id}:{base64.b64encode(bytes([fill]) * 32).decode()}"


OLD, NEW = (line(key_id, fill) for key_id, fill in _FILL.items())


def keys(*key_ids: str) -> PayloadKeys:
    return parse_payload_keys(",".join(line(key_id, _FILL[key_id]) for key_id in key_ids))
