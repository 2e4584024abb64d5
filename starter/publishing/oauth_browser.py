"""The page on a loopback port to which the browser returns after a person has allowed access."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html import escape
from secrets import compare_digest
from urllib.parse import parse_qs, urlsplit

from fascicle.domain.errors import PermanentError, UsageError

_PAGE = "<!doctype html><meta charset=utf-8><title>Fascicle</title><p>{}</p>"
_MAX_LINE = 16_384
_LINE_SECONDS = 10


@dataclass(frozen=True)
class Returned:
    """The data that came back: a code, or an error."""

    code: str = field(repr=False)
    state: str | None
    error: str | None

    def checked_code(self, expected_state: str, *, state_required: bool) -> str:
        """The code, if this answer belongs to our request; otherwise raises an error."""
        if (self.state is not None or state_required) and not self.belongs_to(expected_state):
            raise UsageError(
                "wrong_state",
                "That address belongs to another attempt to connect: start again.",
            )
        if self.error is not None:
            raise PermanentError("connect_denied", f"DeviantArt gave no access: {self.error[:100]}.")
        if not self.code:
            raise UsageError("no_code", "There is no code in that address.")
        return self.code

    def belongs_to(self, expected_state: str) -> bool:
        return self.state is not None and compare_digest(self.state.encode(), expected_state.encode())


def read_return(text: str) -> Returned:
    """Parse a copied code, or the whole address to which the browser was sent."""
    text = text.strip()
    if "=" not in text and "/" not in text:
        return Returned(text, None, None)
    query = parse_qs(urlsplit(text).query or text.rpartition("?")[2])

    def first(name: str) -> str | None:
        return query[name][0] if name in query else None

    return Returned(first("code") or "", first("state"), first("error"))


class CallbackServer:
    """Listens at the redirect address. Requests without the right state are refused; waiting continues."""

    def __init__(self, redirect_uri: str) -> None:
        parts = urlsplit(redirect_uri)
        self._host = parts.hostname or "127.0.0.1"
        self._port = 80 if parts.port is None else parts.port
        self._path = parts.path or "/"
        self._state = ""
        self._returned: asyncio.Future[Returned] = asyncio.get_running_loop().create_future()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Yields the address to come back to."""
        try:
            server = await asyncio.start_server(self._answer, self._host, self._port, limit=_MAX_LINE)
        except OSError as error:
            raise UsageError(
                "port_taken",
                f"{self._host}:{self._port} cannot be used ({error.strerror}). Choose another with "
                "--client-port (it must be registered with DeviantArt), or use --paste.",
            ) from error
        port = server.sockets[0].getsockname()[1]
        host = f"[{self._host}]" if ":" in self._host else self._host
        try:
            yield f"http://{host}:{port}{self._path}"
        finally:
            # Do not wait for it: browsers open connections in advance and leave them idle.
            server.close()

    def expect(self, state: str) -> None:
        """Call this before the address is shown: the browser may return at once."""
        self._state = state

    async def wait(self, seconds: float) -> Returned:
        try:
            return await asyncio.wait_for(asyncio.shield(self._returned), seconds)
        except TimeoutError as error:
            raise PermanentError(
                "connect_timeout", f"Nobody came back from DeviantArt within {seconds / 60:.0f} minutes."
            ) from error

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError, ValueError):
            async with asyncio.timeout(_LINE_SECONDS):
                line = (await reader.readline()).decode("ascii", "replace").split()
                while (await reader.readline()).strip():
                    pass  # skip the headers, which are not needed
            status, words = self._judge(line)
            page = _PAGE.format(escape(words)).encode()
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n"
            writer.write(f"{head}Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode() + page)
            await writer.drain()
        writer.close()

    def _judge(self, line: list[str]) -> tuple[str, str]:
        target = line[1] if len(line) == 3 and line[0] == "GET" else ""
        if urlsplit(target).path != self._path:
            return "404 Not Found", "There is nothing here."
        returned = read_return(target)
        if not self._state or not returned.belongs_to(self._state):
            return "400 Bad Request", "This page belongs to another attempt to connect."
        if not self._returned.done():
            self._returned.set_result(returned)
        if returned.error:
            return "200 OK", "Access was not given. You can close this window."
        return "200 OK", "You can close this window: Fascicle goes on in the terminal."
