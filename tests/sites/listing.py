"""Reading a site's lists to the end."""

from datetime import UTC, datetime

from activities.series.backfill import BackfillProgress
from fascicle.domain.series.chapter import ListingPage, Upload
from fascicle.sites.base import ChapterSite

MOST_PAGES = 60


async def every_page(site: ChapterSite, key: str, listing: str, *languages: str) -> list[ListingPage]:
    """All pages of `newest` or `everything`."""
    pages: list[ListingPage] = []
    cursor: str | None = None
    while True:
        page: ListingPage = await getattr(site, listing)(key, languages, cursor)
        pages.append(page)
        cursor = page.next_cursor
        assert len(pages) < MOST_PAGES
        if cursor is None:
            return pages


def uploads(pages: list[ListingPage]) -> list[Upload]:
    return [upload for page in pages for upload in page.uploads]


def is_complete(pages: list[ListingPage]) -> bool:
    """What the backfill concludes from these pages."""
    progress = BackfillProgress(started_at=datetime.now(UTC))
    for page in pages:
        progress.advance(page, 0)
    return progress.is_complete
