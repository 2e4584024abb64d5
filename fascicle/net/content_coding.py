"""Decodes an answer's body in steps that limit memory and let other tasks run in between.

httpx inflates each chunk in one step, as often as the headers say: a kilobyte can become gigabytes.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator

# The codings that we accept: zlib can limit their output.
ACCEPTED = "gzip, deflate"

_STEP = 1 << 16
_ZLIB, _RAW_DEFLATE, _GZIP = zlib.MAX_WBITS, -zlib.MAX_WBITS, zlib.MAX_WBITS | 16
_WINDOWS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}
# Other names (`none`, `utf-8`) are mistakes of servers that send the body as it is.
_OTHER_CODINGS = frozenset({"br", "compress", "dcb", "dcz", "x-compress", "zstd"})


class BodyTooLarge(Exception):
    pass


class UnwantedCoding(Exception):
    """Coded more than once, or with a coding that we did not ask for."""


class BrokenCoding(Exception):
    """The body is not coded as its headers say."""


async def read_decoded(raw: AsyncIterator[bytes], content_encoding: str, *, most: int) -> bytes:
    """The decoded body. Neither it nor what arrived may be longer than `most`."""
    inflater = _inflater(content_encoding)
    body = bytearray()
    arrived = 0
    async for chunk in raw:
        arrived += len(chunk)
        for piece in (chunk,) if inflater is None else inflater.pieces(chunk):
            body += piece
            if max(arrived, len(body)) > most:
                raise BodyTooLarge
            await asyncio.sleep(0)  # other tasks run between two pieces
    return bytes(body)


def _inflater(content_encoding: str) -> "_Inflater | None":
    named = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [name for name in named if name in _WINDOWS or name in _OTHER_CODINGS]
    if len(codings) > 1:
        raise UnwantedCoding(f"is compressed {len(codings)} times over")
    if codings and codings[0] not in _WINDOWS:
        raise UnwantedCoding(f"is compressed as {codings[0]}, which was not asked for")
    return _Inflater(_WINDOWS[codings[0]]) if codings else None


class _Inflater:
    def __init__(self, window: int) -> None:
        self._window = window
        self._stream = zlib.decompressobj(window)

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """The decoded pieces of a chunk, at most 64 kB each; the last piece may be empty."""
        while not self._stream.eof:
            piece = self._inflated(chunk)
            yield piece
            chunk = self._stream.unconsumed_tail
            if not chunk and len(piece) < _STEP:
                return

    def _inflated(self, chunk: bytes) -> bytes:
        untried, self._window = self._window, 0
        try:
            return self._stream.decompress(chunk, _STEP)
        except zlib.error as error:
            if untried != _ZLIB:
                raise BrokenCoding(str(error)) from error
        self._stream = zlib.decompressobj(_RAW_DEFLATE)  # many servers leave out deflate's envelope
        return self._inflated(chunk)
