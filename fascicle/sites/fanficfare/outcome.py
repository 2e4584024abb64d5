"""Translates a child's failure into our errors: FanFicFare's exceptions with our codes."""

import re
from collections.abc import Mapping
from typing import Any

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.fics.fic import FicCode, FicRef
from fascicle.domain.plain_text import plain_line

_LOGIN = ("FailedToLogin", "AccessDenied", "NeedTimedOneTimePassword")
# Without the address of the challenge's script, because ordinary pages contain it too.
_CHALLENGE = re.compile(
    rb"<title>\s*(?:Just a moment\.\.\.|Attention Required! \| Cloudflare)|_cf_chl_opt", re.IGNORECASE
)
# A challenge is a small page; further down, the words may be the story's.
_HEAD = 20_000
_RETRY_SECONDS = 60.0


def challenge_in(body: bytes) -> bool:
    """Is this a page that checks for a browser, instead of the work?"""
    return _CHALLENGE.search(body[:_HEAD]) is not None


def challenged(ref: FicRef) -> PermanentError:
    return PermanentError(
        FicCode.CHALLENGE,
        f"{ref.site} wants to see a browser before it shows {ref.url}. "
        "Open it in yours, save the page once the work shows, and hand that in.",
    )


def too_slow(ref: FicRef, seconds: float) -> PermanentError:
    return PermanentError(
        FicCode.PARSER_BROKEN, f"Reading {ref.url} took longer than {seconds:g} s and was cut off."
    )


def failure(ref: FicRef, answer: Mapping[str, Any]) -> FascicleError:
    kind, said = answer["failed"], plain_line(str(answer["said"]), longest=300)
    if kind == "StoryDoesNotExist":
        return PermanentError(FicCode.NOT_FOUND, f"{ref.site} has no work at {ref.url}.")
    if kind in _LOGIN:
        return PermanentError(
            FicCode.LOGIN_REQUIRED, f"{ref.site} shows {ref.url} only to members who are logged in."
        )
    if kind == "AdultCheckRequired":
        return PermanentError(
            FicCode.ADULT_GATE,
            f"{ref.site} asks for your age before it shows {ref.url}. "
            "Answer it in your browser, save the page, and hand that in.",
        )
    if kind in ("InvalidStoryURL", "UnknownSite"):
        return PermanentError(FicCode.NOT_FOUND, f"{ref.url} is not the address of a work there.")
    if kind == "HTTPErrorFFF":
        return _status(ref, answer["status"], said)
    if kind == "FailedToDownload":
        return _not_shown(ref, said)
    return PermanentError(FicCode.PARSER_BROKEN, f"The page at {ref.url} cannot be read: {said}.")


def form_wanted(ref: FicRef) -> PermanentError:
    return PermanentError(
        FicCode.PARSER_BROKEN, f"To read {ref.url}, a form would have to be sent to {ref.site}. We only read."
    )


def strayed(ref: FicRef, url: str) -> PermanentError:
    return PermanentError(
        "bad_redirect", f"To read {ref.url}, {plain_line(url, longest=200)} would be needed: another site."
    )


def page_missing(ref: FicRef, url: str) -> PermanentError:
    return PermanentError(
        "page_missing",
        f"The saved page is not all it takes to read {ref.url}: {plain_line(url, longest=200)} is needed "
        "too. Submit the address instead.",
    )


def _not_shown(ref: FicRef, said: str) -> FascicleError:
    """Adapters raise this exception for all kinds of messages on a page; its text tells them apart."""
    if "revealed soon" in said:
        return PermanentError(FicCode.UNREVEALED, f"{ref.url} is part of a challenge and not revealed yet.")
    if "permission" in said:
        return PermanentError(FicCode.LOGIN_REQUIRED, f"{ref.site} does not show {ref.url} to guests.")
    if "unavailable" in said:
        return RetryableError(FicCode.TRANSIENT, f"{ref.site} is unavailable at present.")
    return PermanentError(FicCode.PARSER_BROKEN, f"{ref.url} does not show the work: {said}.")


def _status(ref: FicRef, status: Any, said: str) -> FascicleError:
    """An error page that a site serves with a good status and that an adapter has recognised."""
    if status in (404, 410):
        return PermanentError(FicCode.NOT_FOUND, f"{ref.site} has no work at {ref.url}.", http_status=status)
    if status == 429:
        return MustWait(
            FicCode.RATE_LIMITED, f"{ref.site} asks for a pause.", seconds=_RETRY_SECONDS, refused=True
        )
    if status in (401, 403):
        return PermanentError(FicCode.BLOCKED, f"{ref.site} refuses {ref.url}: {said}.", http_status=status)
    return RetryableError(FicCode.TRANSIENT, f"{ref.site} has a problem with {ref.url}: {said}.")
