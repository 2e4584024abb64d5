"""The part of YouTube that readers of its feeds need: feeds, channels, videos, embedding."""

import re
from collections.abc import Iterator
from html import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from simulator.answers import json_response
from simulator.feeds.edition import Edition
from simulator.feeds.pages import embedding, open_graph, page
from simulator.feeds.records import Feed, FeedEntry
from simulator.feeds.serving import edition_of, serve
from simulator.feeds.site import NewsSite

_VIDEO_ID = re.compile(r"(?:[?&]v=|/shorts/|/embed/|/live/|youtu\.be/)([\w-]{11})")


class YouTube(NewsSite):
    prefix = "/youtube"

    def _routes(self) -> list[Route]:
        return [
            Route("/feeds/videos.xml", self._get_feed),
            Route("/@{handle}", self._get_channel),
            Route("/channel/{id}", self._get_channel),
            Route("/c/{handle}", self._get_channel),
            Route("/user/{handle}", self._get_channel),
            Route("/watch", self._get_video),
            Route("/oembed", self._get_embedding),
        ]

    async def _get_feed(self, request: Request) -> Response:
        with self._newsroom.lock:
            return serve(self._newsroom, self._wanted_feed(request), request)

    async def _get_channel(self, request: Request) -> Response:
        with self._newsroom.lock:
            asked = request.path_params
            feed = self._by_handle(asked["handle"]) if "handle" in asked else self._channel(asked["id"])
            return HTMLResponse(_channel_page(edition_of(self._newsroom, feed, request)))

    async def _get_video(self, request: Request) -> Response:
        """The page of a missing video has status 200 too, and says that the video is not available."""
        with self._newsroom.lock:
            video = self._video(request.query_params.get("v", ""))
            if video is None:
                return HTMLResponse(page("en", "YouTube", "", "<p>This video isn't available anymore</p>"))
            return HTMLResponse(_video_page(self._around(video, request), video))

    async def _get_embedding(self, request: Request) -> Response:
        found = _VIDEO_ID.search(request.query_params.get("url", ""))
        if found is None:
            raise HTTPException(400)
        with self._newsroom.lock:
            video = self._video(found[1])
            if video is None:
                raise HTTPException(404)
            return json_response(embedding(self._around(video, request), video, "YouTube", "video"))

    def _wanted_feed(self, request: Request) -> Feed:
        asked = request.query_params
        if "channel_id" in asked:
            return self._channel(asked["channel_id"])
        if "user" in asked:
            return self._by_handle(asked["user"])
        playlist = asked.get("playlist_id", "")
        if playlist.startswith("UU"):  # the playlist of all uploads of a channel
            return self._channel(f"UC{playlist[2:]}")
        return _only(feed for feed in self._feeds() if feed.playlist_id == playlist)

    def _channel(self, channel_id: str) -> Feed:
        return _only(feed for feed in self._channels() if feed.channel == channel_id)

    def _by_handle(self, handle: str) -> Feed:
        wanted = handle.lower()
        return _only(feed for feed in self._channels() if wanted == (feed.handle or feed.name).lower())

    def _channels(self) -> list[Feed]:
        return [feed for feed in self._feeds() if feed.playlist_id is None]

    def _feeds(self) -> list[Feed]:
        return [feed for feed in self._newsroom.feeds() if feed.format == "youtube"]

    def _video(self, video_id: str) -> FeedEntry | None:
        """Prefer a channel's entry to a playlist's: a playlist may contain videos of other channels."""
        ranks = {feed.name: feed.playlist_id is not None for feed in self._feeds()}
        found = [
            entry
            for entry in self._newsroom.all_entries()
            if entry.video_id == video_id and entry.feed in ranks
        ]
        return min(found, key=lambda entry: ranks[entry.feed], default=None)


def _only(found: Iterator[Feed]) -> Feed:
    feed = next(found, None)
    if feed is None:
        raise HTTPException(404)
    return feed


def _channel_page(edition: Edition) -> str:
    feed = edition.feed
    head = f"""<link rel="canonical" href="{escape(edition.home)}">
<link rel="alternate" type="application/rss+xml" title="RSS" href="{escape(edition.address)}">
<meta property="og:title" content="{escape(feed.title)}">
<meta property="og:url" content="{escape(edition.home)}">
<meta itemprop="name" content="{escape(feed.title)}">
<meta itemprop="identifier" content="{feed.channel}">"""
    return page(feed.language, f"{feed.title} - YouTube", head, f"<h1>{escape(feed.title)}</h1>")


def _video_page(edition: Edition, video: FeedEntry) -> str:
    feed, address = edition.feed, edition.link(video)
    head = f"""<link rel="canonical" href="{escape(address)}">
{open_graph(edition, video, address, "video.other")}
<meta itemprop="identifier" content="{escape(video.video_id)}">
<meta itemprop="channelId" content="{feed.channel}">
<meta itemprop="duration" content="{_iso_duration(video)}">
<meta itemprop="datePublished" content="{video.published_at.isoformat()}">"""
    return page(feed.language, f"{video.title} - YouTube", head, f"<h1>{escape(video.title)}</h1>")


def _iso_duration(video: FeedEntry) -> str:
    """`PT4M13S`; YouTube uses no hours there."""
    seconds = 0
    for part in str(video.duration or 0).split(":"):
        seconds = 60 * seconds + int(part)
    return f"PT{seconds // 60}M{seconds % 60}S"
