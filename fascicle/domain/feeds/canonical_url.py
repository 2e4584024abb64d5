"""One address for each page, to show and to store, and one key that identifies the page."""

import hashlib
import re
import unicodedata
from urllib.parse import SplitResult, parse_qs, quote, unquote, unquote_to_bytes, urlsplit

from fascicle.domain.feeds.trackers import is_form, is_tracker

_LONGEST = 2048
_LONGEST_KEY = 300
_LONGEST_HOST = 253
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*")
_IPV6 = re.compile(r"[0-9a-f.]*:[0-9a-f:.]*")
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\\]")
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_DEFAULT_PORTS = (None, 80, 443)

# Domains under which people have their own names: `m.` may be one of those names.
_SHARED_DOMAINS = frozenset(
    {
        *("blogspot.com", "wordpress.com", "tumblr.com", "substack.com", "livejournal.com", "typepad.com"),
        *("medium.com", "ghost.io", "micro.blog", "bearblog.dev", "neocities.org", "weebly.com"),
        *("github.io", "gitlab.io", "netlify.app", "vercel.app", "pages.dev", "web.app", "herokuapp.com"),
    }
)
_SECOND_LEVEL = frozenset({"co", "com", "org", "net", "ac", "gov", "edu", "ne", "or", "go", "gob", "gouv"})
_WIKI = re.compile(r"([a-z-]{2,12})\.m\.(wik[a-z]+\.org)")

_AMP_CACHE = re.compile(r"/[cv](/s)?/(.+)")
_GOOGLE_AMP = re.compile(r"/amp(/s)?/([^/]+\..+)")
_AMP_END = re.compile(r"(?<=[^/])(?:/amp)+(/?)$")
_INDEX = re.compile(r"/index\.(?:html?|php)$")
_GOOGLE = re.compile(r"(?:www\.)?google\.(?:com|co\.[a-z]{2}|com\.[a-z]{2}|[a-z]{2})")

# Hosts and paths of redirecting pages, and the parameters that hold the target.
_REDIRECTORS: dict[tuple[str, str], tuple[str, ...]] = {
    ("l.facebook.com", "/l.php"): ("u",),
    ("lm.facebook.com", "/l.php"): ("u",),
    ("l.instagram.com", "/"): ("u",),
    ("youtube.com", "/redirect"): ("q",),
    ("www.youtube.com", "/redirect"): ("q",),
    ("m.youtube.com", "/redirect"): ("q",),
    ("out.reddit.com", "/"): ("url",),
    ("steamcommunity.com", "/linkfilter/"): ("url", "u"),
    ("vk.com", "/away.php"): ("to",),
    ("m.vk.com", "/away.php"): ("to",),
    ("t.umblr.com", "/redirect"): ("z",),
    ("duckduckgo.com", "/l/"): ("uddg",),
    ("slack-redir.net", "/link"): ("url",),
}

_YOUTUBE_HOSTS = frozenset({"youtube.com", "music.youtube.com", "gaming.youtube.com", "youtube-nocookie.com"})
_VIDEO_PATH = re.compile(r"/(?:shorts|embed|live|v|e|watch)/([A-Za-z0-9_-]{11})/?")
_VIDEO_ID = re.compile(r"[A-Za-z0-9_-]{11}")
# These have eleven letters too, but they are players, not videos.
_PLAYERS = frozenset({"videoseries", "live_stream"})


def canonical_url(url: str) -> str | None:
    """The address to show, store and fetch, without irrelevant parts; None: not a web address."""
    bare = url.strip()
    for _ in range(_LONGEST):  # a step may uncover an address that needs another step
        tidied = _tidied(bare)
        if tidied is None or tidied == bare:
            return tidied
        bare = tidied
    return None


def url_key(url: str) -> str | None:
    """The key that all addresses of one page share, and no address of another page has.

    It assumes that a page for phones, an AMP page and a place in a page are the same page.
    """
    address = canonical_url(url)
    if address is None:
        return None
    parts = urlsplit(address)
    if video := _youtube_video(parts):
        return f"youtube.com/watch?v={video}"
    host = _folded_host(parts.netloc)
    path = _INDEX.sub("/", _without_amp(parts.path)).rstrip("/")
    asked = [part for part in parts.query.split("&") if part and not is_form(part, host)]
    query = "&".join(sorted(_even(part.replace("+", "%20")) for part in asked))
    fragment = _even(parts.fragment) if parts.fragment.startswith("!") else ""
    key = f"{host}{_even(path)}" + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")
    return key if len(key) <= _LONGEST_KEY else f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


def provider_id(url: str) -> tuple[str, str] | None:
    """The provider of a page and the page's id there; None: no known provider."""
    address = canonical_url(url)
    video = _youtube_video(urlsplit(address)) if address else None
    return ("youtube", video) if video else None


def _tidied(url: str) -> str | None:
    if len(url) > _LONGEST or _UNFIT.search(url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = _host(parts.hostname or "")
    if parts.scheme not in ("http", "https") or host is None:
        return None
    if target := _target(host, parts):
        return target
    netloc = host + ("" if port in _DEFAULT_PORTS else f":{port}")
    query = "&".join(part for part in parts.query.split("&") if part and not is_tracker(part, host))
    tail = (f"?{query}" if query else "") + (f"#{parts.fragment}" if parts.fragment else "")
    tidied = f"{parts.scheme}://{netloc}{parts.path or '/'}{tail}"
    return tidied if len(tidied) <= _LONGEST else None


def _host(host: str) -> str | None:
    """Lower case and ASCII; None: not a valid host name."""
    if _IPV6.fullmatch(host):
        return f"[{host}]"
    even = _DOTS.sub(".", unicodedata.normalize("NFKC", host)).lower().removesuffix(".")
    if not even.isascii():
        even = ".".join(_ascii_label(label) for label in even[:_LONGEST_HOST].split("."))
    return even if len(even) <= _LONGEST_HOST and _HOST.fullmatch(even) else None


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label
    letters = unicodedata.normalize("NFC", label)
    if not all(c in "-_" or unicodedata.category(c)[0] in "LMN" for c in letters):
        return ""
    return "xn--" + letters.encode("punycode").decode("ascii")


def _target(host: str, parts: SplitResult) -> str | None:
    """The address that a redirect or an AMP cache wraps; None: it wraps none."""
    if host.endswith(".cdn.ampproject.org") and (match := _AMP_CACHE.fullmatch(parts.path)):
        return _unwrapped(match, parts)
    is_google = _GOOGLE.fullmatch(host)
    if is_google and (match := _GOOGLE_AMP.fullmatch(parts.path)):
        return _unwrapped(match, parts)
    names = ("q", "url") if is_google and parts.path == "/url" else _REDIRECTORS.get((host, parts.path), ())
    found = parse_qs(parts.query, max_num_fields=100) if names and parts.query.count("&") < 100 else {}
    targets = [found[name][0].strip() for name in names if name in found]
    return next((target for target in targets if target.startswith(("http://", "https://"))), None)


def _unwrapped(match: re.Match[str], parts: SplitResult) -> str:
    return f"http{'s' if match[1] else ''}://{match[2]}" + (f"?{parts.query}" if parts.query else "")


def _folded_host(host: str) -> str:
    if match := _WIKI.fullmatch(host):
        return f"{match[1]}.{match[2]}"
    for label in ("amp", "m", "mobile", "www"):
        host = _without_label(host, label)
    return host


def _without_label(host: str, label: str) -> str:
    rest = host.removeprefix(f"{label}.")
    return rest if rest != host and _is_plausible(rest) else host


def _is_plausible(host: str) -> bool:
    """Can it be one owner's domain, rather than a domain under which people have their own names?"""
    name, _, domain = host.partition(":")[0].rpartition(".")
    if not name or domain.isdigit() or host in _SHARED_DOMAINS:
        return False
    return not (name in _SECOND_LEVEL and len(domain) == 2)


def _without_amp(path: str) -> str:
    if path.endswith(".amp.html"):
        return path.removesuffix(".amp.html") + ".html"
    return _AMP_END.sub(r"\1", path)


_RESERVED_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _even(text: str) -> str:
    """Percent-encoding in one form: only characters that need the encoding have it."""
    decoded = _RESERVED_ESCAPE.sub(_decoded_if_plain, text)
    return quote(decoded, safe="/:@!$&'()*+,;=?~%", errors="replace")


def _decoded_if_plain(escape: re.Match[str]) -> str:
    letter = unquote_to_bytes(escape[0]).decode("latin-1")
    return letter if letter in _UNRESERVED else escape[0].upper()


def _youtube_video(parts: SplitResult) -> str | None:
    host = _folded_host(parts.netloc)
    if host == "youtu.be":
        return _checked_video(parts.path.strip("/"))
    if host not in _YOUTUBE_HOSTS:
        return None
    if match := _VIDEO_PATH.fullmatch(parts.path):
        return _checked_video(match[1])
    query = dict(part.partition("=")[::2] for part in parts.query.split("&"))
    if parts.path.rstrip("/") == "/watch":
        return _checked_video(query.get("v", ""))
    target = unquote(query.get("u", "")) if parts.path == "/attribution_link" else ""
    return _youtube_video(urlsplit(f"https://youtube.com{target}")) if target.startswith("/") else None


def _checked_video(found: str) -> str | None:
    return found if _VIDEO_ID.fullmatch(found) and found not in _PLAYERS else None
