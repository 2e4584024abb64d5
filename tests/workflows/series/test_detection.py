"""What is measured of news: once, by the site's own time, and never of history (O1)."""

from datetime import datetime

from temporalio.common import MetricMeter

from fascicle.domain.series.detection import detection_delay
from fascicle.temporal.metrics import Metrics
from tests.feeds import feed, poll, publish, read
from tests.harness import Harness


class Stopwatch(Metrics):
    """Keeps the delays instead of counting them."""

    def __init__(self) -> None:
        super().__init__(MetricMeter.noop)
        self.seen: list[tuple[str, float]] = []

    def note_detection(
        self, site: str, published_at: datetime | None, followed_since: datetime | None
    ) -> None:
        delay = detection_delay(published_at, followed_since=followed_since, now=self._clock())
        if delay is not None:
            self.seen.append((site, delay.total_seconds()))


async def test_o1_news_of_series_and_feeds_are_timed_and_history_is_not(harness: Harness) -> None:
    stopwatch, upstream, url = Stopwatch(), harness.series(chapters=3), feed(harness, entries=2)
    async with harness.workers(metrics=stopwatch):
        source = await harness.add_and_sync(upstream)
        followed = await read(harness, "ann", url)
        assert stopwatch.seen == []
        # Sites date to the second: what comes out within that of the first sync would be older than it.
        await harness.execute("update source set first_synced_at = first_synced_at - interval '1 minute'")
        harness.release(upstream)
        await harness.poll(source)
        await harness.all_quiet()
        publish(harness, "blog", "News")
        for _ in range(2):
            await poll(harness, followed)
        await harness.poll(source)
    assert [site for site, _ in stopwatch.seen] == ["mangadex", "feed"]
    assert all(0 <= seconds < 60 for _, seconds in stopwatch.seen)
