"""All functions that a parsing process may run, as `module:function`.

Such a function takes the document's bytes and keyword arguments of JSON types, and returns a JSON type or a
model. A process imports a function's module when it needs it for the first time.
"""

from enum import StrEnum


class Reading(StrEnum):
    FEED = "fascicle.sites.feeds.reading:read_feed"
    FEED_ENTRY = "fascicle.sites.feeds.reading:read_entry"
    FEED_LINKS = "fascicle.sites.feeds.discovery:feed_links"
    YOUTUBE_CHANNELS = "fascicle.sites.feeds.youtube:channels_in_page"
    PAGE = "fascicle.sites.pages.reading:read_page"
    ARTICLE = "fascicle.sites.articles.reading:read_article"
    AO3_PAGE = "fascicle.sites.ao3.reading:read_saved_or_fetched"
    WEEBCENTRAL_SERIES = "fascicle.sites.weebcentral.pages:series_title"
    WEEBCENTRAL_CHAPTERS = "fascicle.sites.weebcentral.pages:chapter_list"
    WEEBCENTRAL_LATEST = "fascicle.sites.weebcentral.pages:latest_updates"
    ADAPTER_SERIES = "fascicle.sites.declarative.reading:read_title"
    ADAPTER_CHAPTERS = "fascicle.sites.declarative.reading:read_chapters"
    ADAPTER_LATEST = "fascicle.sites.declarative.reading:read_latest_page"
