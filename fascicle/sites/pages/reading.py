"""Reads all facts of a page at once, in a parsing process: untrusted HTML is parsed nowhere else."""

from collections.abc import Callable
from typing import TypeVar

from fascicle.domain.errors import FascicleError
from fascicle.domain.feeds.item_page import PageMetadata, PageReading, StepError

T = TypeVar("T")


def read_page(
    body: bytes,
    *,
    url: str,
    content_type: str | None,
    with_text: bool,
    declared_language: str | None,
    feed_text: str,
) -> PageReading:
    """The page's metadata, its text if wanted, and a detected language if none is declared. Blocks.

    An empty body means that there is no page, or none to read. A parser that crashes loses only its own part.
    """
    reading = PageReading()
    if body:
        from fascicle.sites.pages.metadata import page_metadata

        reading.metadata = _part(
            reading, "metadata", lambda: page_metadata(body, url=url, content_type=content_type)
        )
    elif url:
        reading.metadata = PageMetadata(url=url, content_type=content_type)
    if body and with_text:
        from fascicle.sites.pages.main_text import page_text

        reading.text = _part(reading, "text", lambda: page_text(body, url, content_type)) or ""
    if declared_language is None and (reading.metadata is None or reading.metadata.language is None):
        from fascicle.sites.pages.language import language_of

        longest = max(reading.text, feed_text, key=len)
        reading.language = _part(reading, "language", lambda: language_of(longest))
    return reading


def _part(reading: PageReading, step: str, read: Callable[[], T | None]) -> T | None:
    try:
        return read()
    except FascicleError:
        raise
    except Exception as error:
        reading.errors.append(StepError(step=step, code="crashed", message=repr(error)[:300]))
        return None
