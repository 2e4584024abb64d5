"""A stand-in for S3, as far as storing and fetching single objects goes. In memory; for tests only."""

import re
from hashlib import sha256
from itertools import count
from threading import Lock
from urllib.parse import unquote
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer

XML = {"content-type": "application/xml"}
NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


class Objects:
    """The stored objects, by bucket and key, as in `pictures/2026/lamp.png`."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.stored: dict[str, bytes] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self._numbers = count(1)

    def begin_upload(self) -> str:
        upload_id = f"upload-{next(self._numbers)}"
        self.parts[upload_id] = {}
        return upload_id

    def clear(self) -> None:
        with self.lock:
            self.stored.clear()
            self.parts.clear()


class S3:
    """Path-style addresses below the prefix: `/s3/BUCKET/KEY`. A signature is required but not checked."""

    prefix = "/s3"

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        if not request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 Credential="):
            await _refusal(403, "AccessDenied")(scope, receive, send)
            return
        key = unquote(scope["path"].removeprefix(self.prefix).lstrip("/"))
        with self._objects.lock:
            answer = self._answer(request, key, body)
        await answer(scope, receive, send)

    def error(self, status: int, retry_after: str | None) -> Answer:
        return _refusal(status, "ServiceUnavailable" if status == 503 else "InternalError", retry_after)

    def _answer(self, request: Request, key: str, body: bytes) -> Answer | Response:
        query, objects = request.query_params, self._objects
        match request.method:
            case "PUT" if "uploadId" in query:
                return self._put_part(query["uploadId"], int(query["partNumber"]), body)
            case "PUT":
                objects.stored[key] = body
                return Answer(200, b"", {"etag": _etag(body)})
            case "POST" if "uploads" in query:
                return _result("InitiateMultipartUploadResult", "UploadId", objects.begin_upload())
            case "POST" if "uploadId" in query:
                return self._complete(query["uploadId"], key, body)
            case "DELETE" if "uploadId" in query:
                objects.parts.pop(query["uploadId"], None)
                return Answer(204, b"", {})
            case "DELETE":
                objects.stored.pop(key, None)
                return Answer(204, b"", {})
            case "GET" | "HEAD" if key in objects.stored:
                return _content(request, objects.stored[key])
            case "GET" | "HEAD":
                return _refusal(404, "NoSuchKey")
        return _refusal(405, "MethodNotAllowed")

    def _put_part(self, upload_id: str, number: int, body: bytes) -> Answer:
        if upload_id not in self._objects.parts:
            return _refusal(404, "NoSuchUpload")
        self._objects.parts[upload_id][number] = body
        return Answer(200, b"", {"etag": _etag(body)})

    def _complete(self, upload_id: str, key: str, body: bytes) -> Answer:
        parts = self._objects.parts.pop(upload_id, None)
        if parts is None:
            return _refusal(404, "NoSuchUpload")
        numbers = [int(number) for number in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
        if not numbers or not set(numbers) <= set(parts):
            return _refusal(400, "InvalidPart")
        whole = b"".join(parts[number] for number in numbers)
        self._objects.stored[key] = whole
        return _result("CompleteMultipartUploadResult", "ETag", _etag(whole))


def _content(request: Request, content: bytes) -> Response:
    headers = {
        "etag": _etag(content),
        "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT",
        "accept-ranges": "bytes",
    }
    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
    if wanted is None:
        return Response(content, 200, headers)
    first = int(wanted[1])
    last = min(int(wanted[2]) if wanted[2] else len(content) - 1, len(content) - 1)
    if first > last:
        return Response(b"", 416, headers)
    headers["content-range"] = f"bytes {first}-{last}/{len(content)}"
    return Response(content[first : last + 1], 206, headers)


def _etag(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:32]}"'


def _result(name: str, field: str, value: str) -> Answer:
    return Answer(200, f"<{name} {NAMESPACE}><{field}>{escape(value)}</{field}></{name}>".encode(), XML)


def _refusal(status: int, code: str, retry_after: str | None = None) -> Answer:
    headers = XML if retry_after is None else {**XML, "retry-after": retry_after}
    return Answer(status, f"<Error><Code>{code}</Code><Message>simulated</Message></Error>".encode(), headers)
