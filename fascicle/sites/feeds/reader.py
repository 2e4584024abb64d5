import asyncio
from fascicle.sites.feeds.parse import parse_feed


class FeedReader:
    def __init__(self, processes, *, max_entries=5000, longest_seconds=60):
        pass

    async def read(self, body, *, url, content_type=None):
        return await asyncio.to_thread(parse_feed, body, url=url, content_type=content_type)

    async def close(self):
        pass
