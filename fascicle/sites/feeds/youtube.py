"""YouTube: makes the address of a feed, or of a page that names the channel, from a pasted address."""

import re
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from fascicle.domain.feeds.canonical_url import provider_id

_HOSTS = frozenset(
    {
        *("youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "gaming.youtube.com"),
        *("youtube-nocookie.com", "www.youtube-nocookie.com", "youtu.be", "www.youtu.be"),
    }
)
_CHANNEL = re.compile(r"UC[A-Za-z0-9_-]{22}")
_PLAYLIST = re.compile(r"(?:PL|UU|FL|OLAK5uy_|UULF|UUSH|UULV)[A-Za-z0-9_-]{8,60}")
_NAME = re.compile(r"[\w.·-]{1,100}")
_CHANNEL_PATH = re.compile(r"/channel/(UC[A-Za-z0-9_-]{22})(?:/.*)?")
_USER_PATH = re.compile(r"/user/([A-Za-z0-9_.-]{1,100})(?:/.*)?")
_NAMED_PATH = re.compile(r"/(@[^/]{1,100}|c/[^/]{1,100})(?:/.*)?")
_VIDEO_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_VIDEO_PATH = re.compile(r"/(?:shorts|embed|live|v)/([A-Za-z0-9_-]{11})/?")
# The page's own channel first: pages also name the channels of videos they recommend.
_IN_PAGE = tuple(
    re.compile(pattern)
    for pattern in (
        rb"""<link[^<>]{0,300}?feeds/videos\.xml\?channel_id=(UC[A-Za-z0-9_-]{22})""",
        rb"""<meta[^<>]{0,100}?itemprop=["'](?:identifier|channelId)["'][^<>]{0,100}?(UC[A-Za-z0-9_-]{22})""",
        rb"""<link[^<>]{0,100}?rel=["']canonical["'][^<>]{0,200}?/channel/(UC[A-Za-z0-9_-]{22})""",
        rb""""externalId"\s*:\s*"(UC[A-Za-z0-9_-]{22})\"""",
        rb""""channelId"\s*:\s*"(UC[A-Za-z0-9_-]{22})\"""",
    )
)


def youtube_feed(url: str, base: str) -> str | None:
    """The feed at `base` if the address contains the channel, playlist or user; None otherwise."""
    parts = _youtube_parts(url, base)
    if parts is None:
        return None
    query = parse_qs(parts.query) if parts.query.count("&") < 50 else {}
    name, value = _feed_parameter(parts.path, {key: values[0] for key, values in query.items()})
    return f"{base.rstrip('/')}/feeds/videos.xml?{name}={quote(value, safe='')}" if value else None


def youtube_page(url: str, base: str) -> str | None:
    """The page at `base` that names the channel, for handles, names and videos; None otherwise."""
    parts = _youtube_parts(url, base)
    if parts is None:
        return None
    if named := _NAMED_PATH.fullmatch(parts.path):
        return f"{base.rstrip('/')}/{quote(named[1], safe='/@%')}"
    video = _video(url, parts)
    return f"{base.rstrip('/')}/watch?v={video}" if video else None


def channels_in_page(html: bytes) -> list[str]:
    """The ids of channels: first the page's own channel or its video's, then those that it may mean."""
    found = (pattern.search(html) for pattern in _IN_PAGE)
    return list(dict.fromkeys(match[1].decode("ascii") for match in found if match))


def _youtube_parts(url: str, base: str) -> SplitResult | None:
    """The parts of a YouTube address as on YouTube's own host; `base` may be a path on another host."""
    try:
        parts, home = urlsplit(url.strip()), urlsplit(base)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https"):
        return None
    if parts.hostname in _HOSTS:
        return parts
    folder = home.path.rstrip("/")
    if parts.netloc.lower() != home.netloc.lower() or not parts.path.startswith(f"{folder}/"):
        return None
    return parts._replace(path=parts.path.removeprefix(folder))


def _feed_parameter(path: str, query: dict[str, str]) -> tuple[str, str]:
    if path == "/feeds/videos.xml":
        for name, form in (("channel_id", _CHANNEL), ("playlist_id", _PLAYLIST), ("user", _NAME)):
            if form.fullmatch(value := query.get(name, "")):
                return name, value
    if channel := _CHANNEL_PATH.fullmatch(path):
        return "channel_id", channel[1]
    if user := _USER_PATH.fullmatch(path):
        return "user", user[1]
    # The address of a video within a playlist means the video.
    of_playlist = path in ("/playlist", "/embed/videoseries") or (path == "/watch" and "v" not in query)
    if of_playlist and _PLAYLIST.fullmatch(query.get("list", "")):
        return "playlist_id", query["list"]
    return "", ""


def _video(url: str, parts: SplitResult) -> str | None:
    """`provider_id` knows YouTube's own hosts; `base` may be another."""
    if known := provider_id(url):
        return known[1]
    if match := _VIDEO_PATH.fullmatch(parts.path):
        return match[1]
    found = parse_qs(parts.query).get("v", [""])[0] if parts.path == "/watch" else ""
    return found if _VIDEO_ID.fullmatch(found) else None
