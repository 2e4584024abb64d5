"""The smallest mail server: on loopback, without TLS."""

import asyncio
import contextlib
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message as Email
from typing import Literal

_ANSWERS = {
    b"EHLO": b"250-fake\r\n250 AUTH PLAIN LOGIN\r\n",
    b"AUTH": b"235 yes\r\n",
    b"QUIT": b"221 bye\r\n",
}


class MailServer:
    """`hang_up`: takes a mail and leaves before it says so; `refuse`: says no to it."""

    def __init__(self, manners: Literal["take", "hang_up", "refuse"] = "take") -> None:
        self.manners = manners
        self.mails: list[Email] = []
        self.recipients: list[str] = []
        self.logins = 0

    async def __aenter__(self) -> "MailServer":
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    def subjects(self) -> list[str]:
        return [str(make_header(decode_header(mail["Subject"]))) for mail in self.mails]

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 fake\r\n")
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while line := await reader.readline():
                verb = line[:4].upper()
                if verb == b"DATA" and not await self._take(reader, writer):
                    break
                if verb == b"RCPT":
                    self.recipients.append(line.partition(b"<")[2].partition(b">")[0].decode())
                self.logins += verb == b"AUTH"
                if verb != b"DATA":
                    writer.write(_ANSWERS.get(verb, b"250 ok\r\n"))
        writer.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """False: hang up."""
        writer.write(b"354 go on\r\n")
        text = await reader.readuntil(b"\r\n.\r\n")
        if self.manners == "refuse":
            writer.write(b"554 not wanted\r\n")
            return True
        self.mails.append(message_from_bytes(text.removesuffix(b".\r\n")))
        if self.manners == "take":
            writer.write(b"250 taken\r\n")
        return self.manners == "take"
