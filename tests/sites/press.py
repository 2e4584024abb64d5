"""A web server that answers what a test tells it to, and pages of a newspaper that nobody prints."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Press:
    """On a free port, in a thread, for as long as the `with` block lasts."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        """Paths, headers and JSON bodies of the requests."""
        press = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                press._answer(self)

            def do_POST(self) -> None:
                press._answer(self)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def put(
        self, path: str, body: str | bytes = b"", *, status: int = 200, kind: str = HTML, **headers: str
    ) -> str:
        """The address where this is answered from now on."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = body.encode() if isinstance(body, str) else body
        self.replies[path] = Reply(content, status, {"Content-Type": kind, **named})
        return self.url + path

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("content-length") or 0)
        sent = json.loads(request.rfile.read(length)) if length else None
        self.asked.append((request.path, dict(request.headers), sent))
        reply = self.replies.get(request.path, Reply(b"no", 404))
        request.send_response(reply.status)
        for name, value in reply.headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(reply.body)))
        request.end_headers()
        request.wfile.write(reply.body)


TITLE = "The keeper of the light"
PARAGRAPHS = (
    "The last keeper of the light on the northern island left his post on Tuesday, after thirty-one years "
    "in which he had written down every ship that passed the rocks below his window, by day and by night.",
    "He took the books with him, forty of them, each as heavy as a loaf of bread. The harbour office had "
    "asked for them twice, and twice he had answered that they were not finished yet.",
    "From now on a lamp without a keeper will turn there. It was built on the mainland, it switches itself "
    "on when the sun goes down, and it sends a message to the office when one of its two bulbs has failed.",
    "What nobody has decided is who will write down the ships. The office says that satellites do so; "
    "the keeper says that satellites have never greeted anybody, and that he was greeted back mostly.",
)
RELATED = (
    "Ten harbours that you have never seen",
    "Why the ferry is always late",
    "Storm warnings, explained",
)
_CARD = """<span class="card"><a href="/p">the keeper</a><span><a href="/1">Keeper buys a boat after all</a>
<a href="/2">Harbour office counts its ships again</a><a href="/3">MORE</a></span></span>"""


def news_page(*paragraphs: str, title: str = TITLE, language: str = "en") -> str:
    """With what stands around an article: navigation, dates, links to others, a card over a name."""
    first, *rest = paragraphs or PARAGRAPHS
    others = "".join(f'<li><a href="/{n}">{name}</a></li>' for n, name in enumerate(RELATED))
    body = "".join(f"<p>{paragraph}</p>" for paragraph in rest)
    return f"""<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8">
<title>{title} | The Northern Paper</title><meta property="og:site_name" content="The Northern Paper">
<meta name="author" content="Ilse Brandt">
<meta property="article:published_time" content="2026-11-03T10:00:00Z">
<script>window.paper = {{}}</script></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/sea">Sea</a></li><li><a href="/land">Land</a></li></ul>
</nav><article><h1>{title}</h1><p>By Ilse Brandt</p><p>November 3, 2026 - 10:00 GMT</p>
<p>{first}</p><div><p>Advertisement</p></div><p>Related: <a href="/9">The island that moved</a></p>
{body.replace("the keeper", _CARD)}<h3>More on this</h3><ul>{others}</ul></article>
<aside><h3>Most read</h3><ul>{others}</ul></aside><footer><p>© 2026 The Northern Paper</p></footer>
</body></html>"""
