"""The messages of a call to the model."""

import re
from dataclasses import dataclass
from typing import Any

CHARACTERS_PER_TOKEN = 4
_SAY = re.compile(r"^\W*SAY:[ \t]*(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    messages: tuple[Message, ...]

    @classmethod
    def of(cls, body: dict[str, Any]) -> "Prompt":
        """Leaves out entries that are not JSON objects."""
        given = body.get("messages")
        found = [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
        return cls(tuple(Message(str(entry.get("role")), _text(entry.get("content"))) for entry in found))

    @property
    def text(self) -> str:
        return "\n\n".join(f"{message.role}: {message.content}" for message in self.messages)

    @property
    def tokens(self) -> int:
        return tokens(self.text)

    @property
    def last_of_user(self) -> str:
        spoken = [message.content for message in self.messages if message.role == "user"]
        return spoken[-1] if spoken else ""

    @property
    def told_to_say(self) -> str | None:
        """The text of the last line `SAY: …`: models follow the last instruction that they read."""
        found: list[str] = _SAY.findall(self.text)
        return found[-1].strip() if found else None


def tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _text(content: Any) -> str:
    """A content is a text, or a list of parts; only parts with a text count."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
