"""Facts about an item (I5) from the page behind it and from its service, and which of them are kept."""

import re

from pydantic import BaseModel

from fascicle.domain.feeds.item_words import count_words, extractive_summary, lead_of, reading_minutes
from fascicle.domain.instants import Instant

# Fewer words are a caption, a date or "Comments"; they do not tell what an item is about.
_WORDS_OF_A_LEAD = 6
# So many words are the article itself, not only its beginning.
_WORDS_OF_AN_ARTICLE = 250
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9_-]{1,30})?\s*")
# Codes for "undetermined", "several" and "none".
_NO_LANGUAGE = frozenset({"und", "mul", "mis", "zxx", "xx", "xxx"})


class PageMetadata(BaseModel):
    """Read from a page's head. All texts are plain, all addresses are absolute."""

    url: str
    """The address of the page after redirects."""
    content_type: str | None = None
    title: str | None = None
    description: str | None = None
    site_name: str | None = None
    author: str | None = None
    image_url: str | None = None
    published_at: Instant = None
    duration_seconds: int | None = None
    language: str | None = None
    canonical_url: str | None = None
    oembed_url: str | None = None
    kind: str | None = None
    """`article`, `VideoObject` …: as the page calls it."""


class OEmbed(BaseModel):
    """A service's description of something that it hosts."""

    type: str | None = None
    title: str | None = None
    author: str | None = None
    site_name: str | None = None
    image_url: str | None = None
    duration_seconds: int | None = None


class StepError(BaseModel):
    """A step of the enrichment that failed; the other steps were done all the same."""

    step: str
    code: str
    message: str


class PageReading(BaseModel):
    """The result of the process that reads pages."""

    metadata: PageMetadata | None = None
    text: str = ""
    language: str | None = None
    """Detected from the text if nothing declares it."""
    errors: list[StepError] = []


class EnrichableItem(BaseModel):
    """The parts of an item that its enrichment needs."""

    id: int
    url: str | None = None
    title: str = ""
    summary: str | None = None
    content: str | None = None
    media_type: str | None = None
    duration_seconds: int | None = None
    language: str | None = None
    feed_language: str | None = None
    enrich: str = "due"


class Texts(BaseModel):
    """The available texts without markup: from the feed and from the page."""

    summary: str = ""
    content: str = ""
    page: str = ""

    @property
    def longest(self) -> str:
        return max(self.content, self.page, self.summary, key=len)


class Enrichment(BaseModel):
    """The facts to keep. They do not replace what the feed itself said."""

    title: str | None = None
    author: str | None = None
    site_name: str | None = None
    image_url: str | None = None
    duration_seconds: int | None = None
    language: str | None = None
    published_at: Instant = None
    lead: str | None = None
    lead_kind: str | None = None
    words: int | None = None
    reading_minutes: int | None = None
    page: PageMetadata | None = None
    oembed: OEmbed | None = None
    errors: list[StepError] = []


def primary_language(tag: str | None) -> str | None:
    """`en` of `en-GB` or `en_GB`; None: not a language."""
    match = _LANGUAGE.fullmatch(tag or "")
    code = match.group(1).lower() if match else None
    return None if code in _NO_LANGUAGE else code


def declared_language(item: EnrichableItem, page: PageMetadata | None) -> str | None:
    """The language that the entry, the page or the feed declares. Detecting it would be expensive."""
    said = (item.language, page.language if page else None, item.feed_language)
    return next((language for tag in said if (language := primary_language(tag))), None)


def needs_page_text(item: EnrichableItem, texts: Texts) -> bool:
    """Finding a page's text is the most expensive step. It is not needed if the feed has the text, or if the
    feed describes something to watch or to hear."""
    words = count_words(texts.longest).total
    if item.duration_seconds or (item.media_type or "").startswith(("audio/", "video/")):
        return words < _WORDS_OF_A_LEAD
    return words < _WORDS_OF_AN_ARTICLE


def put_together(
    item: EnrichableItem,
    texts: Texts,
    *,
    page: PageMetadata | None,
    oembed: OEmbed | None,
    language: str | None,
    errors: list[StepError],
) -> Enrichment:
    """Facts from the service go before facts from the page."""
    nothing = PageMetadata(url="")
    service, read = oembed or OEmbed(), page or nothing
    lead, lead_kind = _lead(item, texts, read.description)
    words = count_words(texts.longest)
    duration = item.duration_seconds or service.duration_seconds or read.duration_seconds
    is_read = duration is None and not (item.media_type or "").startswith(("audio/", "video/"))
    return Enrichment(
        title=service.title or read.title,
        author=service.author or read.author,
        site_name=service.site_name or read.site_name,
        image_url=service.image_url or read.image_url,
        duration_seconds=duration,
        language=language,
        published_at=read.published_at,
        lead=lead,
        lead_kind=lead_kind,
        words=words.total or None,
        reading_minutes=reading_minutes(words) if is_read and words.total else None,
        page=page,
        oembed=oembed,
        errors=errors,
    )


def _lead(item: EnrichableItem, texts: Texts, description: str | None) -> tuple[str | None, str | None]:
    """The feed's words, else the page's description, else sentences of its text; else a short text of the
    feed."""
    of_feed = _telling(texts.summary, item.title) or _telling(texts.content, item.title)
    if of_feed:
        return of_feed, "feed"
    if of_page := _telling(description or "", item.title):
        return of_page, "page"
    if summary := extractive_summary(texts.page):
        return summary, "extractive"
    short = lead_of(texts.summary or texts.content)
    return (short, "feed") if short and short != item.title else (None, None)


def _telling(text: str, title: str) -> str | None:
    lead = lead_of(text)
    return lead if count_words(lead).total >= _WORDS_OF_A_LEAD and lead != title else None
