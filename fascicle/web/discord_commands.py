"""The commands that are registered at Discord (`fascicle discord register`)."""

from typing import Any

ADD = "rec add"
UPDATE = "rec update"
QUEUE = "rec queue"
RESET = "rec resetqueue"
CLEAR = "rec clearqueue"
OVERRIDE = "rec override"
SET_CHANNEL = "setficqueuechannel"

_SUBCOMMAND, _TEXT, _CHANNEL = 1, 3, 7
# Channels of these kinds can be written to: text, announcements.
_WRITABLE = [0, 5]
# Only in servers, and only where the server's owners added the application.
_IN_SERVERS = {"contexts": [0], "integration_types": [0]}


def _text(name: str, description: str, *, required: bool = False, longest: int = 500) -> dict[str, Any]:
    return {
        "type": _TEXT,
        "name": name,
        "description": description,
        "required": required,
        "max_length": longest,
    }


_URL = _text("url", "The fic's address, as your browser shows it.", required=True, longest=2000)


def _subcommand(name: str, description: str, *options: dict[str, Any]) -> dict[str, Any]:
    return {"type": _SUBCOMMAND, "name": name, "description": description, "options": list(options)}


DEFINITIONS: list[dict[str, Any]] = [
    {
        "name": "rec",
        "description": "Fics: submit them, and see how they fare.",
        **_IN_SERVERS,
        "options": [
            _subcommand(
                "add",
                "Submit a fic or a series.",
                _URL,
                _text("note", "Why you recommend it."),
                _text("tags", "Your own tags, with commas between them."),
            ),
            _subcommand("update", "Have a fic read anew.", _URL),
            _subcommand("queue", "What is waiting, and for how long."),
            _subcommand("resetqueue", "Moderators: start what is stuck again."),
            _subcommand("clearqueue", "Moderators: take a fic out of the queue.", _URL),
            _subcommand(
                "override",
                "Moderators: let a fic in that the rules refuse.",
                _URL,
                _text("reason", "Why it belongs here all the same."),
            ),
        ],
    },
    {
        "name": SET_CHANNEL,
        "description": "Moderators: where new fics are told. Without a channel: nowhere.",
        **_IN_SERVERS,
        "options": [
            {
                "type": _CHANNEL,
                "name": "channel",
                "description": "The channel.",
                "required": False,
                "channel_types": _WRITABLE,
            }
        ],
    },
]
