"""Other people's words, shown letter by letter: they format nothing, lead nowhere and call nobody."""

import re

# It has no width: nobody sees it, and no name, tag or address goes on behind it.
_BREAK = "\u200b"
# A name that is called, a tag, an address, a link of Markdown's, a domain.
_BEGINNINGS = re.compile(r"[@<](?=\S)|:(?=//)|\](?=[(\[])|(?<=[^\W_])\.(?=[^\W\d_]{2})")
_MARKDOWN = re.compile(r"([\\*_~`|<>\[\]()#]|&(?=#?\w{1,32};))")
_LIST = re.compile(r"^([^\S\n]*\d*)([-+.])(?=\s)", re.MULTILINE)
# Besides control characters those that turn the direction of what follows.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SUMMARY_BYTES = 380
_WEB_LINK = re.compile(r"https?://[^\s<>\"'`|\\^{}\x00-\x1f\x7f]+", re.IGNORECASE)


def one_line(text: str) -> str:
    return " ".join(_INVISIBLE.sub(" ", text).split())


def disarmed(text: str) -> str:
    """For a reader who finds names and addresses in plain text: a person's program, or a service."""
    return _BEGINNINGS.sub(rf"\g<0>{_BREAK}", _INVISIBLE.sub("", text))


def escape_markdown(text: str) -> str:
    return _LIST.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", disarmed(text)))


def is_web_link(text: str) -> bool:
    """Whether it is an address of the web and nothing else, so that it can stand in a message as it is."""
    return _WEB_LINK.fullmatch(text) is not None


def for_web_ui(text: str) -> str:
    """One line for Temporal's UI, which reads Markdown and takes 400 bytes of a summary."""
    return escape_markdown(one_line(text)).encode()[:_SUMMARY_BYTES].decode(errors="ignore")
