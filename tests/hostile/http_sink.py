"""A web server that takes whatever is posted to it, and answers what most services' clients want to hear."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote_plus, urlsplit

import apprise
import pytest
import requests

# Who logs in gets a token, who asks for a room gets one.
_ANSWER = {
    "ok": True,
    "code": 0,
    "errno": 0,
    "errcode": 0,
    "success": True,
    "status": "success",
    "id": "1",
    "access_token": "t",
    "accessJwt": "t",
    "refreshJwt": "t",
    "did": "did:plc:ann",
    "token": "t",
    "expires_in": 3600,
    "user_id": "@ann:sink.example",
    "home_server": "sink.example",
    "room_id": "!room:sink.example",
    "joined_rooms": ["!room:sink.example"],
    "default_workspace": 1,
    "data": {"authToken": "t", "userId": "1"},
}


class HttpSink:
    def __init__(self) -> None:
        self.paths: list[str] = []
        self.bodies: list[str] = []
        self.status = 200
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def _take(self) -> None:
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                is_form = "urlencoded" in (self.headers.get("Content-Type") or "")
                sink.paths.append(unquote_plus(self.path))
                sink.bodies.append(unquote_plus(sent) if is_form else _words(sent))
                answer = json.dumps(_ANSWER).encode()
                self.send_response(sink.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def do_GET(self) -> None:
                self._take()

            def do_POST(self) -> None:
                self._take()

            def do_PUT(self) -> None:
                self._take()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"

    def text(self) -> str:
        """All that came, addresses included: some services take messages there."""
        return "\n".join([*self.paths, *self.bodies])

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def send_everything_to(sink: HttpSink, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of `requests` go to the sink, whichever host they are for, without a rest between them."""
    original = requests.adapters.HTTPAdapter.send

    def send(adapter: Any, request: Any, *args: Any, **options: Any) -> Any:
        parts = urlsplit(request.url)
        request.url = parts._replace(scheme="http", netloc=sink.address).geturl()
        return original(adapter, request, *args, **options)

    monkeypatch.setattr(apprise.URLBase, "throttle", lambda *_, **__: None)
    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)


def _words(sent: str) -> str:
    """JSON with its characters as they are meant."""
    try:
        return json.dumps(json.loads(sent), ensure_ascii=False)
    except ValueError:
        return sent
