"""The time from the publication of an instalment until we had it."""

from datetime import datetime, timedelta


def detection_delay(
    published_at: datetime | None, *, followed_since: datetime | None, now: datetime
) -> timedelta | None:
    """None if the instalment has no date, or one from before its source was first read: that is history,
    however late it appears. A site's clock may be ahead of ours: then the delay is 0."""
    if published_at is None or followed_since is None or published_at < followed_since:
        return None
    return max(now - published_at, timedelta(0))
