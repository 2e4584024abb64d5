"""Recognises the kind of the archive's page: a work, a series, or the reason why there is none (F9).

The page itself decides, by the archive's own markup; its status counts only if the page says nothing. So
saved pages are recognised as well as fetched ones. Cloudflare's script is on good pages too: its marks count
only on a page without anything of the archive.
"""

import re
from collections.abc import Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError
from fascicle.domain.fics.fic import FicCode, FicKind
from fascicle.sites.ao3.tree import broken, line, parsed

_SENTENCES = {
    FicCode.NOT_FOUND: "The archive has no such page: the address is mistyped, or the work was deleted.",
    FicCode.LOGIN_REQUIRED: "The work is locked: its author shows it to people with an account only.",
    FicCode.UNREVEALED: "The work is part of a challenge and not revealed yet. Try again when it is.",
    FicCode.ADULT_GATE: "The archive asked whether adult content is wanted, instead of showing the work.",
    FicCode.RATE_LIMITED: "The archive says that it is asked too often. It has to be left alone for a while.",
    FicCode.TRANSIENT: "The archive is overloaded or down for the moment. Try again in a few minutes.",
    FicCode.BLOCKED: "The archive blocks this machine's address. Asking again makes it worse.",
    FicCode.CHALLENGE: "A check for browsers stands before the archive, which programs cannot pass.",
}
_RETRYABLE = frozenset((FicCode.RATE_LIMITED, FicCode.TRANSIENT))
_BY_STATUS = {
    401: FicCode.LOGIN_REQUIRED,
    403: FicCode.BLOCKED,
    404: FicCode.NOT_FOUND,
    408: FicCode.TRANSIENT,
    410: FicCode.NOT_FOUND,
    425: FicCode.TRANSIENT,
    429: FicCode.RATE_LIMITED,
    445: FicCode.TRANSIENT,
    507: FicCode.BLOCKED,
}
# Phrases in pages that are not the archive's; the first match counts.
_FOREIGN = (
    (b"error 1015", FicCode.RATE_LIMITED),
    (b"error code: 1015", FicCode.RATE_LIMITED),
    (b"you are being rate limited", FicCode.RATE_LIMITED),
    (b"too many requests", FicCode.RATE_LIMITED),
    (b"too_many_requests", FicCode.RATE_LIMITED),
    (b"sorry, you have been blocked", FicCode.BLOCKED),
    (b"error code: 1020", FicCode.BLOCKED),
    (b"just a moment", FicCode.CHALLENGE),
    (b"cf-chl", FicCode.CHALLENGE),
    (b"cf_chl", FicCode.CHALLENGE),
    (b"challenge-platform", FicCode.CHALLENGE),
    (b"attention required! | cloudflare", FicCode.BLOCKED),
)
_FOREIGN_TOP = 100_000
_ARCHIVES_FRAME = "#outer, #workskin"
_SHORT_TEXT = 300
_STATUS_IN_CLASS = re.compile(r"error-([0-9]{3})")
_STATUS_IN_TITLE = re.compile(r"(?:^|\||error(?: code:)?) ?([45][0-9]{2})\b", re.IGNORECASE)


def page_of(body: bytes, status: int, headers: Mapping[str, str]) -> tuple[FicKind, LexborNode]:
    """The kind of a readable page and its main part; an error with its FicCode for every other."""
    if any(k.lower() == "cf-mitigated" and v.strip().lower() == "challenge" for k, v in headers.items()):
        raise _fault(FicCode.CHALLENGE, status)
    tree = parsed(body)
    main = tree.css_first("#main")
    if main is None:
        raise _without_main(status) if tree.css_matches(_ARCHIVES_FRAME) else _foreign(body, tree, status)
    title = line(tree.css_first("head > title"))
    if error := _error_page(main, title) or _by_status(status):
        raise error
    if main.css_matches("dl.work.meta"):
        return FicKind.WORK, main
    if main.css_matches("dl.series.meta"):
        return FicKind.SERIES, main
    raise _other_page(main, title)


def _error_page(main: LexborNode, title: str) -> FascicleError | None:
    """The archive's own error pages: class `error-404`, or a heading with the status."""
    classes = _classes(main)
    if "sessions-new" in classes or main.css_matches("#signin #loginform"):
        return _fault(FicCode.LOGIN_REQUIRED)
    if "errors" not in classes and not any(name.startswith("error-") for name in classes):
        return None
    number = next((m[1] for name in classes if (m := _STATUS_IN_CLASS.match(name))), None)
    number = number or _status_in(line(main.css_first("h2"))) or _status_in(title)
    if number:
        return _by_status(int(number)) or broken(f"the archive answered with its error {number}")
    return (
        _fault(FicCode.TRANSIENT)
        if "error-timeout_error" in classes
        else broken("it is an error of a new kind")
    )


def _other_page(main: LexborNode, title: str) -> FascicleError:
    """Neither a work nor a series. Stories can imitate these marks, but not as children of the main part."""
    if main.css_matches("#main > p.caution"):
        return _fault(FicCode.ADULT_GATE)
    notices = " ".join(line(p) for p in main.css("#main > p.notice")).lower()
    if "revealed soon" in notices or title.startswith("Mystery Work"):
        return _fault(FicCode.UNREVEALED)
    if "works-navigate" in _classes(main):
        return broken("it is a work's list of chapters; the work's own page is needed")
    return broken(
        f"it is neither a work nor a series, but {title!r}" if title else "it has no title and no work"
    )


def _without_main(status: int) -> FascicleError:
    return _by_status(status) or broken(
        "its main part is missing, so the archive has probably changed its pages"
    )


def _foreign(body: bytes, tree: LexborHTMLParser, status: int) -> FascicleError:
    """A page without anything of the archive: Cloudflare's, a proxy's, a line of text, or an empty one."""
    text = body.strip()
    if text[:_SHORT_TEXT].lower().rstrip(b".!") == b"retry later":
        return _fault(FicCode.RATE_LIMITED, 429)
    top = body[:_FOREIGN_TOP].lower()
    for sign, code in _FOREIGN:
        if sign in top:
            return _fault(code, status)
    said = line(tree.css_first("title, h1, h2")) or (line(tree.body) if len(text) < _SHORT_TEXT else "")
    number = _status_in(said)
    if error := _by_status(status) or (_by_status(int(number)) if number else None):
        return error
    if "maintenance" in said.lower():
        return _fault(FicCode.TRANSIENT)
    return broken("there is nothing of the archive in it")


def _by_status(status: int) -> FascicleError | None:
    if status < 400:
        return None
    code = _BY_STATUS.get(status) or (FicCode.TRANSIENT if status >= 500 else None)
    return _fault(code, status) if code else broken(f"the archive answered {status}")


def _fault(code: FicCode, status: int = 200) -> FascicleError:
    family = RetryableError if code in _RETRYABLE else PermanentError
    return family(code, _SENTENCES[code], http_status=status if status >= 400 else None)


def _status_in(text: str) -> str | None:
    match = _STATUS_IN_TITLE.search(text[:_SHORT_TEXT])
    return match[1] if match else None


def _classes(node: LexborNode) -> list[str]:
    return (node.attributes.get("class") or "").split()
