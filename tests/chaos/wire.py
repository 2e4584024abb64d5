"""The wire between a worker and Temporal, which can be cut: what the worker does then is done, and never
reported."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_CHUNK = 65536


class Wire:
    def __init__(self, address: str) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._is_cut = False
        self._connections: set[asyncio.Task[None]] = set()
        self._live: set[asyncio.Event] = set()
        self.address = ""

    def cut(self) -> None:
        """From now on nothing passes, over the connections that are there and over new ones."""
        self._is_cut = True
        for alive in self._live:
            alive.clear()

    def mend(self) -> None:
        """For new connections; who was cut off stays so."""
        self._is_cut = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        alive = asyncio.Event()
        if not self._is_cut:
            alive.set()
        self._live.add(alive)
        try:
            await self._connect(reader, writer, alive)
        finally:
            writer.close()
            self._live.discard(alive)
            self._connections.discard(task)

    async def _connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, alive: asyncio.Event
    ) -> None:
        there, back = await asyncio.open_connection(self._host, self._port)
        pumps = [
            asyncio.create_task(_pump(reader, back, alive)),
            asyncio.create_task(_pump(there, writer, alive)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            back.close()

    async def close(self) -> None:
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)


@asynccontextmanager
async def open_wire(address: str) -> AsyncIterator[Wire]:
    wire = Wire(address)
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    wire.address = "{}:{}".format(*server.sockets[0].getsockname()[:2])
    try:
        yield wire
    finally:
        server.close()
        await wire.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, alive: asyncio.Event) -> None:
    with suppress(ConnectionError):
        while data := await source.read(_CHUNK):
            if alive.is_set():
                sink.write(data)
                await sink.drain()
