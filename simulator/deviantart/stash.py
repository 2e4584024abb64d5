"""Sta.sh: storing a file, and publishing it once."""

from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.deviantart.errors import ApiError
from simulator.deviantart.parameters import flag, gather, read_form, tags, text, whole_number
from simulator.deviantart.records import FormValues, Token
from simulator.deviantart.studio import Studio
from simulator.multipart import Form, FormFile, MalformedFormError, read_multipart

MAX_FILE_BYTES = 30_000_000
MAX_TITLE = 50
MAX_ID = 2**63 - 1
SUBMISSION_POLICY, TERMS_OF_SERVICE, RESOLUTION = 0, 1, 5
MATURE_LEVELS = {"strict", "moderate"}
CLASSIFICATIONS = {"nudity", "sexual", "gore", "language", "ideology"}
PUBLISH_FLAGS = (
    "feature",
    "allow_comments",
    "allow_free_download",
    "add_watermark",
    "is_ai_generated",
    "noai",
)


class Stash:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio

    async def submit(self, request: Request, holder: Token) -> Response:
        try:
            form = await read_multipart(request.headers.get("content-type", ""), request.stream())
        except MalformedFormError as error:
            raise ApiError(str(error)) from None
        fields = gather(form.fields)
        file = _file_of(form)
        for name in ("is_ai_generated", "noai"):
            flag(fields, name)
        given_id = whole_number(fields, "itemid", 0, 0, MAX_ID) or None
        item = self._studio.submit(holder.account, _title(fields), tags(fields), file, fields, given_id)
        return json_response(
            {
                "status": "success",
                "itemid": item.item_id,
                "stack": "Sta.sh Uploads",
                "stackid": item.item_id + 1,
            }
        )

    async def publish(self, request: Request, holder: Token) -> Response:
        form = await read_form(request)
        item_id = whole_number(form, "itemid", None, 1, MAX_ID)
        # Check the item first: an already published item gets its own error, even if the form is wrong too.
        self._studio.check_publishable(holder.account, item_id)
        is_mature = _check_publication(form)
        deviation = self._studio.publish(holder.account, item_id, form, is_mature=is_mature)
        return json_response(
            {"status": "success", "url": deviation.url, "deviationid": deviation.deviation_id}
        )


def _title(fields: FormValues) -> str:
    title = text(fields, "title").strip()
    if not 1 <= len(title) <= MAX_TITLE:
        raise ApiError(f"The title must have 1 to {MAX_TITLE} characters.")
    return title


def _file_of(form: Form) -> FormFile:
    if len(form.files) != 1:
        raise ApiError("Send one file.")
    file = form.files[0]
    if not 0 < file.size <= MAX_FILE_BYTES:
        raise ApiError(f"A file must have 1 to {MAX_FILE_BYTES} bytes.")
    return file


def _check_publication(form: FormValues) -> bool:
    """Raises ApiError for a form that DeviantArt would refuse. Returns whether the work is mature."""
    if text(form, "agree_submission") != "1":
        raise ApiError("You must agree to the submission policy.", code=SUBMISSION_POLICY)
    if text(form, "agree_tos") != "1":
        raise ApiError("You must agree to the terms of service.", code=TERMS_OF_SERVICE)
    resolution = text(form, "display_resolution")
    if resolution and resolution not in list("012345678"):
        raise ApiError("The display_resolution is not allowed.", code=RESOLUTION)
    tags(form)
    for name in PUBLISH_FLAGS:
        flag(form, name)
    if not flag(form, "is_mature"):
        return False
    if text(form, "mature_level") not in MATURE_LEVELS:
        raise ApiError("A mature_level is required: strict or moderate.")
    if wrong := set(form.get("mature_classification[]", [])) - CLASSIFICATIONS:
        raise ApiError(f"Unknown mature_classification: {sorted(wrong)[0]}.")
    return True
