"""Other people's words, made harmless: they contain no formatting, no links and no mentions."""

import re

# A zero-width space: invisible, but it ends a name, a tag or an address.
_BREAK = "\u200b"
# The beginnings of a mention, a tag, an address, a Markdown link and a domain.
_BEGINNINGS = re.compile(r"[@<](?=\S)|:(?=//)|\](?=[(\[])|(?<=[^\W_])\.(?=[^\W\d_]{2})")
_MARKDOWN = re.compile(r"([\\*_~`|<>\[\]()#]|&(?=#?\w{1,32};))")
_LIST = re.compile(r"^([^\S\n]*\d*)([-+.])(?=\s)", re.MULTILINE)
# Control characters, and characters that change the direction of the text.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SUMMARY_BYTES = 380
_WEB_LINK = re.compile(r"https?://[^\s<>\"'`|\\^{}\x00-\x1f\x7f]+", re.IGNORECASE)


def one_line(text: str) -> str:
    return " ".join(_INVISIBLE.sub(" ", text).split())


def disarmed(text: str) -> str:
    """For programs and services that turn names and addresses in plain text into mentions and links."""
    return _BEGINNINGS.sub(rf"\g<0>{_BREAK}", _INVISIBLE.sub("", text))


def escape_markdown(text: str) -> str:
    return _LIST.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", disarmed(text)))


def is_web_link(text: str) -> bool:
    """Is it a web address and nothing else, so that a message may contain it unchanged?"""
    return _WEB_LINK.fullmatch(text) is not None


def for_web_ui(text: str) -> str:
    """One line for Temporal's UI, which reads Markdown and takes 400 bytes of a summary."""
    return escape_markdown(one_line(text)).encode()[:_SUMMARY_BYTES].decode(errors="ignore")
