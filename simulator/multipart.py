"""Reading multipart/form-data as it arrives; of a file's content, only size and hash are kept."""

import hashlib
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from email.message import Message

FIELD_BYTES = 1_000_000
HEADER_BYTES = 16_384


class MalformedFormError(Exception):
    """The body is not multipart/form-data, or ends before the form does."""


@dataclass(slots=True)
class FormFile:
    name: str
    file_name: str
    content_type: str
    size: int
    sha256: str


@dataclass(slots=True)
class Form:
    fields: list[tuple[str, str]] = field(default_factory=list)
    files: list[FormFile] = field(default_factory=list)


async def read_multipart(content_type: str, chunks: AsyncIterator[bytes]) -> Form:
    source = _Source(chunks)
    delimiter = b"\r\n--" + _boundary(content_type)
    form = Form()
    await source.until(delimiter, _ignore)
    while await source.exactly(2) == b"\r\n":
        await _read_part(source, delimiter, form)
    return form


async def _read_part(source: "_Source", delimiter: bytes, form: Form) -> None:
    headers = _Limited(HEADER_BYTES)
    await source.until(b"\r\n\r\n", headers.take)
    described = _parse_headers(bytes(headers.content))
    name = described.get_param("name", header="content-disposition")
    if not isinstance(name, str):
        raise MalformedFormError("a part of the form has no name")
    file_name = described.get_filename()
    if file_name is None:
        value = _Limited(FIELD_BYTES)
        await source.until(delimiter, value.take)
        form.fields.append((name, value.content.decode("utf-8", "replace")))
        return
    measured = _Measured()
    await source.until(delimiter, measured.take)
    digest = measured.digest.hexdigest()
    form.files.append(FormFile(name, file_name, described.get_content_type(), measured.size, digest))


class _Source:
    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        # The first delimiter may have no line end before it; this one makes it look like the others.
        self._buffer = bytearray(b"\r\n")

    async def until(self, mark: bytes, take: Callable[[bytes], None]) -> None:
        """Pass everything before the mark to `take`, then skip the mark."""
        while (at := self._buffer.find(mark)) < 0:
            safe = len(self._buffer) - len(mark) + 1
            if safe > 0:
                take(bytes(self._buffer[:safe]))
                del self._buffer[:safe]
            await self._fill()
        take(bytes(self._buffer[:at]))
        del self._buffer[: at + len(mark)]

    async def exactly(self, length: int) -> bytes:
        while len(self._buffer) < length:
            await self._fill()
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken

    async def _fill(self) -> None:
        try:
            self._buffer += await anext(self._chunks)
        except StopAsyncIteration:
            raise MalformedFormError("the form ends too early") from None


class _Limited:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.content = bytearray()

    def take(self, chunk: bytes) -> None:
        self.content += chunk
        if len(self.content) > self._limit:
            raise MalformedFormError("a field of the form is too long")


class _Measured:
    def __init__(self) -> None:
        self.size = 0
        self.digest = hashlib.sha256()

    def take(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self.digest.update(chunk)


def _ignore(chunk: bytes) -> None:
    """Drop the text before the first part, which has no meaning."""


def _boundary(content_type: str) -> bytes:
    found = re.match(r'multipart/form-data;.*\bboundary="?([^";,]+)"?', content_type, re.IGNORECASE)
    if found is None:
        raise MalformedFormError("not multipart/form-data")
    return found[1].encode("latin-1")


def _parse_headers(content: bytes) -> Message:
    headers = Message()
    for line in content.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers[name] = value.strip()
    return headers
