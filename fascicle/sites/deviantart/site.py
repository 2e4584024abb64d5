"""DeviantArt: uploading to Sta.sh, publishing from there, and looking at the gallery.

`Unclear` means that a request may or may not have changed something.
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.instants import instant
from fascicle.domain.publishing.publication import GalleryEntry
from fascicle.net.answers import Answer
from fascicle.net.http import NEVER_SENT, Gated, HttpClient, StreamedBody
from fascicle.sites.deviantart.answers import bearing, described, judge_read, refusal
from fascicle.sites.deviantart.answers import said as _json

_API = "/api/v1/oauth2"
_PAGE = 24
# The workflow does longer waits, so that they do not occupy one of the few slots for publishing.
_PATIENCE_SECONDS = 0.5
_PUBLICATION_FAILED = 6
_ALREADY_PUBLISHED = 9
# The reasons for a refused publication, and what a person can do about each.
_REFUSALS = {
    0: ("policy_refused", "it breaks a rule of the site"),
    1: ("policy_refused", "it breaks a rule of the site"),
    4: ("licence_refused", "its licence options contradict each other"),
    5: ("resolution_refused", "its display resolution is not possible for this file"),
    7: ("item_gone", "Sta.sh no longer has the file: fascicle post resolve ID --upload-anew"),
    8: ("preview_required", "the file needs a preview, which only the site's own form can add"),
}


class Unclear(RetryableError):
    """The change may have happened, whatever the answer was."""


class AlreadyPublished(PermanentError):
    """The item was published before: by us without receiving the answer, or by its owner."""


@dataclass(frozen=True)
class Artwork:
    """The properties that are sent when a file is uploaded and published. None: the site's own default."""

    title: str
    description: str | None
    tags: Sequence[str] | None
    is_mature: bool | None
    mature_level: str | None
    mature_classification: Sequence[str] | None
    gallery_ids: Sequence[str] | None
    display_resolution: int | None
    feature: bool | None
    allow_comments: bool | None
    allow_free_download: bool | None
    add_watermark: bool | None
    is_ai_generated: bool | None
    noai: bool | None


@dataclass(frozen=True)
class Upload:
    file_name: str
    content_type: str
    size: int
    chunks: AsyncIterator[bytes]


@dataclass(frozen=True)
class Publication:
    deviation_id: str | None
    url: str | None


class DeviantArt:
    def __init__(self, http: HttpClient, *, base_url: str) -> None:
        self._http = http
        self._api = f"{base_url}{_API}"

    async def check(self, bearer: str, gate: Gated) -> None:
        """The cheapest call that needs a token."""
        await self._read("placebo", bearer, gate)

    async def submit(
        self,
        bearer: str,
        gate: Gated,
        artwork: Artwork,
        upload: Upload,
        *,
        before_sending: Callable[[], Awaitable[None]],
        timeout_seconds: float,
    ) -> str:
        """Upload to Sta.sh, where only the owner sees it. Returns the item's id; Unclear if there is none."""
        answer = await self._change(
            f"{self._api}/stash/submit",
            gate,
            headers=bearing(bearer),
            body=_multipart(_submit_fields(artwork), upload),
            before_sending=before_sending,
            timeout_seconds=timeout_seconds,
        )
        item_id = answer.get("itemid")
        if not isinstance(item_id, int | str) or isinstance(item_id, bool):
            raise Unclear("submit_unclear", "DeviantArt stored the file, or not: its answer names no item.")
        return str(item_id)

    async def publish(
        self,
        bearer: str,
        gate: Gated,
        item_id: str,
        artwork: Artwork,
        *,
        before_sending: Callable[[], Awaitable[None]],
        timeout_seconds: float,
    ) -> Publication:
        """Publish by one call, never repeated. Raises Unclear, AlreadyPublished or the site's error."""
        answer = await self._change(
            f"{self._api}/stash/publish",
            gate,
            headers=bearing(bearer),
            form=[("itemid", item_id), *_publish_fields(artwork)],
            before_sending=before_sending,
            timeout_seconds=timeout_seconds,
        )
        if answer.get("status") != "success":
            raise Unclear("publish_unclear", "DeviantArt published it, or not: its answer says neither.")
        return Publication(_text(answer.get("deviationid")), _text(answer.get("url")))

    async def newest(self, bearer: str, gate: Gated) -> list[GalleryEntry]:
        """The newest page of the gallery; one page is enough for a publication of the last minutes."""
        params = {"limit": str(_PAGE), "mature_content": "true"}
        return _gallery(await self._read("gallery/all", bearer, gate, params))

    async def _read(
        self, path: str, bearer: str, gate: Gated, params: dict[str, str] | None = None
    ) -> Answer:
        return await self._http.send(
            "GET",
            f"{self._api}/{path}",
            gate,
            headers=bearing(bearer),
            params=params,
            judge=judge_read,
            patience_seconds=_PATIENCE_SECONDS,
        )

    async def _change(
        self, url: str, gate: Gated, *, before_sending: Callable[[], Awaitable[None]], **request: Any
    ) -> dict[str, Any]:
        """Send a request that changes something. Once it is sent, an indefinite answer is Unclear."""
        is_sent = False

        async def about_to_send() -> None:
            nonlocal is_sent
            await before_sending()
            is_sent = True

        try:
            answer = await self._http.send(
                "POST",
                url,
                gate,
                judge=_judge_change,
                before_sending=about_to_send,
                patience_seconds=_PATIENCE_SECONDS,
                **request,
            )
        except (Unclear, MustWait):
            raise
        except FascicleError as error:
            if not is_sent or error.code in NEVER_SENT:
                raise
            if error.retryable or error.code == "too_large":
                raise Unclear(error.code, error.message, http_status=error.http_status) from error
            raise
        said = _json(answer)
        if said is None:
            raise Unclear("bad_answer", f"{answer.place} answered {answer.status} with nothing to read.")
        return said


def _judge_change(answer: Answer) -> None:
    """Judge the answer to a request for a change: anything that is not definite is unclear."""
    if answer.status < 300:
        return
    if error := refusal(answer):
        raise error
    said = _json(answer)
    code = said.get("error_code") if said else None
    if code == _ALREADY_PUBLISHED:
        raise AlreadyPublished("already_published", described(answer), http_status=answer.status)
    if said is None or answer.status < 400 or answer.status >= 500 or code == _PUBLICATION_FAILED:
        raise Unclear("publish_unclear", described(answer), http_status=answer.status)
    name, advice = _REFUSALS.get(code if isinstance(code, int) else -1, ("bad_request", None))
    message = described(answer) + (f" ({advice})" if advice else "")
    raise PermanentError(name, message, http_status=answer.status)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _gallery(answer: Answer) -> list[GalleryEntry]:
    said = _json(answer)
    results = said.get("results") if said else None
    if not isinstance(results, list):
        raise RetryableError("bad_answer", f"{answer.place} answered no gallery.", http_status=answer.status)
    return [_entry(result) for result in results if isinstance(result, dict) and result.get("deviationid")]


def _entry(result: dict[str, Any]) -> GalleryEntry:
    return GalleryEntry(
        deviation_id=str(result["deviationid"]),
        url=_text(result.get("url")),
        title=str(result.get("title") or ""),
        published_at=_moment(result.get("published_time")),
    )


def _moment(seconds: Any) -> datetime | None:
    try:
        return instant(datetime.fromtimestamp(int(seconds), UTC))
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _flags(**flags: bool | None) -> list[tuple[str, str]]:
    return [(name, "1" if value else "0") for name, value in flags.items() if value is not None]


def _submit_fields(artwork: Artwork) -> list[tuple[str, str]]:
    fields = [("title", artwork.title)]
    if artwork.description:
        fields.append(("artist_comments", artwork.description))
    fields += [("tags[]", tag) for tag in artwork.tags or ()]
    return fields + _flags(is_ai_generated=artwork.is_ai_generated, noai=artwork.noai)


def _publish_fields(artwork: Artwork) -> list[tuple[str, str]]:
    fields = [("agree_submission", "1"), ("agree_tos", "1"), ("is_mature", "1" if artwork.is_mature else "0")]
    if artwork.is_mature:
        fields.append(("mature_level", artwork.mature_level or "strict"))
        fields += [("mature_classification[]", given) for given in artwork.mature_classification or ()]
    fields += [("galleryids[]", gallery) for gallery in artwork.gallery_ids or ()]
    fields += [("tags[]", tag) for tag in artwork.tags or ()]
    if artwork.display_resolution is not None:
        fields.append(("display_resolution", str(artwork.display_resolution)))
    return fields + _flags(
        feature=artwork.feature,
        allow_comments=artwork.allow_comments,
        allow_free_download=artwork.allow_free_download,
        add_watermark=artwork.add_watermark,
        is_ai_generated=artwork.is_ai_generated,
        noai=artwork.noai,
    )


def _multipart(fields: Sequence[tuple[str, str]], upload: Upload) -> StreamedBody:
    """A form with a file, of known length. It is built here because httpx reads files synchronously."""
    boundary = secrets.token_hex(16)
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields
    )
    head += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; '
        f'filename="{_quotable(upload.file_name)}"\r\nContent-Type: {upload.content_type}\r\n\r\n'
    )
    start, end = head.encode(), f"\r\n--{boundary}--\r\n".encode()

    async def chunks() -> AsyncIterator[bytes]:
        yield start
        async for chunk in upload.chunks:
            yield chunk
        yield end

    length = len(start) + upload.size + len(end)
    return StreamedBody(chunks(), length, f"multipart/form-data; boundary={boundary}")


def _quotable(name: str) -> str:
    return "".join("_" if c in '"\\' or not c.isprintable() else c for c in name)
