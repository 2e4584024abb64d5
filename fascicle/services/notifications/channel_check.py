"""Checks Apprise URLs by the object that Apprise makes of them, so that their spelling does not matter."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fascicle.domain.errors import UsageError

# Arguments by which a URL names a file on this machine.
_FILE_ARGUMENTS = frozenset(
    {
        "template",
        "keyfile",
        "subfile",
        "pgpkey",
        "pgppub",
        "pgpprv",
        "pgp_key",
        "pgp_privkey",
        "attach",
        "file",
    }
)
_OF_THE_QUERY = ("qsd", "qsd+", "qsd-", "qsd:")


@dataclass(frozen=True)
class Judged:
    kinds: frozenset[str]
    """The Apprise schemas of the URL; a service's own https:// address gives them too."""
    files: str | None = None
    """The argument that names a file on this machine."""


def check_channel(url: str) -> Judged:
    """Raises UsageError if Apprise cannot use the URL; the error never shows the URL, which is a secret."""
    channel = apprise_channel(url)
    if channel is None:
        raise UsageError(
            "invalid_channel",
            "That is not an Apprise URL. Examples: ntfy://TOPIC, discord://ID/TOKEN, mailto://…, json://HOST/PATH.",
        )
    channel.retry = 0  # Apprise counts retries as targets
    if len(channel) > 1:
        raise UsageError(
            "several_targets",
            "That URL has several targets. Add one channel for each, so that a retry reaches nobody twice.",
        )
    return Judged(kinds_of(channel), next(_files(url, channel), None))


def kinds_of(channel: Any) -> frozenset[str]:
    return frozenset(channel.schemas())


def apprise_channel(url: str) -> Any | None:
    import apprise  # slow to import, and few commands need it

    return apprise.Apprise.instantiate(url, suppress_exceptions=True)


def _files(url: str, channel: Any) -> Iterator[str]:
    """Arguments that make the channel read files of this machine."""
    from apprise import AppriseAttachment, plugins

    for name, value in vars(channel).items():
        if isinstance(value, AppriseAttachment) and len(value):
            yield name.lstrip("_")
    if str(getattr(channel, "pgp_mode", "no")) not in (
        "no",
        "none",
    ):  # it reads keys on this machine, and creates some
        yield "pgp"
    parse: Any = plugins.url_to_dict  # it has no type hints
    arguments = dict(parse(url) or {})
    for part in _OF_THE_QUERY:
        given = arguments.pop(part, None) or {}
        yield from (name for name, value in given.items() if name.lower() in _FILE_ARGUMENTS and value)
        arguments.update((f"{part} {name}", value) for name, value in given.items())
    yield from (
        name for name, value in arguments.items() if any(_is_file_address(one) for one in _texts(value))
    )


def _is_file_address(text: str) -> bool:
    return text.strip().lower().startswith("file:")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | set):
        for one in value:
            yield from _texts(one)
