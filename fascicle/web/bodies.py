"""Bodies of requests, read no further than allowed."""

from starlette.requests import Request


class BodyTooLarge(Exception):
    pass


async def read_body(request: Request, most_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise BodyTooLarge(f"A body has at most {most_bytes} bytes.")
    return bytes(body)
