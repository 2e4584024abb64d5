"""How long an instalment was out before we had it."""

from datetime import datetime, timedelta


def detection_delay(
    published_at: datetime | None, *, followed_since: datetime | None, now: datetime
) -> timedelta | None:
    """None where it says nothing about us: no date, or one from before its source was first read, which is
    history however late it shows. A site's clock may be ahead of ours: then it is no delay at all."""
    if published_at is None or followed_since is None or published_at < followed_since:
        return None
    return max(now - published_at, timedelta(0))
