"""Reading an account's published deviations."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.deviantart.errors import ApiError, NotFoundError
from simulator.deviantart.parameters import flag, gather, text, whole_number
from simulator.deviantart.records import Account, Deviation, Token
from simulator.deviantart.studio import Studio

MAX_LIMIT, MAX_OFFSET, DEFAULT_LIMIT = 24, 50_000, 10
MAX_METADATA = 50
MAX_EXTENDED_METADATA = 10


class Gallery:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio

    async def all(self, request: Request, holder: Token) -> Response:
        query = gather(request.query_params.multi_items())
        limit = whole_number(query, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT)
        offset = whole_number(query, "offset", 0, 0, MAX_OFFSET)
        name = text(query, "username") or holder.account
        if name not in self._studio.saved.accounts:
            raise ApiError("User not found.")
        shown = [d for d in self._studio.gallery(name) if flag(query, "mature_content") or not d.is_mature]
        end = offset + limit
        has_more = len(shown) > end
        results = [self._entry(deviation) for deviation in shown[offset:end]]
        return json_response(
            {"has_more": has_more, "next_offset": end if has_more else None, "results": results}
        )

    async def deviation(self, request: Request, holder: Token) -> Response:
        found = self._studio.deviation(request.path_params["id"])
        if found is None:
            raise NotFoundError("Deviation not found.")
        return json_response(self._entry(found))

    async def metadata(self, request: Request, holder: Token) -> Response:
        query = gather(request.query_params.multi_items())
        extended = flag(query, "ext_submission")
        wanted = query.get("deviationids[]", [])
        most = MAX_EXTENDED_METADATA if extended else MAX_METADATA
        if not 1 <= len(wanted) <= most:
            raise ApiError(f"Name 1 to {most} deviationids[].")
        found = [deviation for text in wanted if (deviation := self._studio.deviation(text))]
        return json_response({"metadata": [self._metadata(deviation, extended) for deviation in found]})

    def _entry(self, deviation: Deviation) -> dict[str, Any]:
        return {
            "deviationid": deviation.deviation_id,
            "printid": None,
            "url": deviation.url,
            "title": deviation.title,
            "is_favourited": False,
            "is_deleted": False,
            "is_published": True,
            "is_blocked": False,
            "is_mature": deviation.is_mature,
            "author": user(self._studio.account(deviation.account)),
            "published_time": str(int(deviation.at)),
            "stats": {"comments": 0, "favourites": 0},
        }

    def _metadata(self, deviation: Deviation, extended: bool) -> dict[str, Any]:
        content: dict[str, Any] = {
            "deviationid": deviation.deviation_id,
            "printid": None,
            "author": user(self._studio.account(deviation.account)),
            "is_watching": False,
            "title": deviation.title,
            "description": "".join(deviation.submission.get("artist_comments", [])),
            "license": "No License",
            "allows_comments": True,
            "tags": [{"tag_name": tag, "sponsored": False, "sponsor": ""} for tag in deviation.tags],
            "is_favourited": False,
            "is_mature": deviation.is_mature,
        }
        if extended:
            content["submission"] = {
                "creation_time": str(int(deviation.at)),
                "category": "visual_art",
                "file_size": str(deviation.size),
                "submitted_with": {"app": "simulated", "url": "https://app.example.org"},
            }
        return content


def user(account: Account) -> dict[str, Any]:
    return {
        "userid": account.userid,
        "username": account.name,
        "usericon": f"https://a.example.org/{account.name}.png",
        "type": "regular",
    }
