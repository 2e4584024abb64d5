"""Releases chapters at a fixed interval, and from time to time a feed entry."""

import asyncio

from simulator.feeds import Newsroom
from simulator.feeds.demo import publish_next
from simulator.specs import UploadSpec
from simulator.upload import Upload
from simulator.world import World

CHAPTERS_PER_ENTRY = 4


class Releaser:
    """Releases, at each interval, the next chapter of the next ongoing series, in all its languages.

    Every fourth chapter also publishes the next entry of the demo's feeds.

    The world stores the progress, so that a restart neither repeats a release nor resets the clock.
    """

    def __init__(self, world: World, every_seconds: float, feeds: Newsroom | None = None) -> None:
        self._world = world
        self._every_seconds = every_seconds
        self._feeds = feeds

    async def run(self) -> None:
        with self._world.changing():
            self._world.last_release_at = self._world.last_release_at or self._world.clock()
        while True:
            await asyncio.sleep(self.seconds_until_due())
            self.release_next()
            if self._feeds and self._world.releases_made % CHAPTERS_PER_ENTRY == 0:
                publish_next(self._feeds)

    def seconds_until_due(self) -> float:
        last = self._world.last_release_at
        elapsed = (self._world.clock() - last).total_seconds() if last else 0.0
        return min(max(self._every_seconds - elapsed, 0.0), self._every_seconds)

    def release_next(self) -> list[Upload]:
        """Release one chapter now; nothing if no series is ongoing."""
        world = self._world
        with world.changing():
            world.last_release_at = world.clock()
            ongoing = [series for series in world.series.values() if series.about.status == "ongoing"]
            if not ongoing:
                return []
            series = ongoing[world.releases_made % len(ongoing)]
            world.releases_made += 1
            chapter, volume = series.next_chapter()
            languages = series.about.languages
            return world.release(
                series.id,
                *(UploadSpec(chapter=chapter, volume=volume, language=language) for language in languages),
            )
