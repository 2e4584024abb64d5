"""AO3 as an upstream: its routes, and which works a guest may see."""

from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer
from simulator.ao3.archive import Archive, UnknownWorkError
from simulator.ao3.errors import status_answer
from simulator.ao3.layout import layout
from simulator.ao3.records import Work
from simulator.ao3.series_page import series_page
from simulator.ao3.work_page import adult_gate, navigate_page, unrevealed_page, work_page
from simulator.site import page_number
from simulator.world import UnknownSeriesError

ADULT_CONSENT = "view_adult"


class Ao3:
    prefix = "/ao3"

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._router = Router(
            [
                Route("/works/{id:int}", self._get_work),
                Route("/works/{id:int}/chapters/{chapter:int}", self._get_chapter),
                Route("/works/{id:int}/navigate", self._get_index),
                Route("/chapters/{chapter:int}", self._find_chapter),
                Route("/series/{id:int}", self._get_series),
                Route("/users/login", _get_login),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            await self.error(error.status_code, None)(scope, receive, send)
        except UnknownSeriesError:
            await self.error(404, None)(scope, receive, send)

    def error(self, status: int, retry_after: str | None) -> Answer:
        return status_answer(status, retry_after)

    async def _get_work(self, request: Request) -> Response:
        with self._archive.lock:
            work = self._archive.work(request.path_params["id"])
            refusal = self._refusal(request, work)
            if refusal is not None:
                return refusal
            if work.is_chaptered and "view_full_work" not in request.query_params:
                return _redirect(request, f"/works/{work.id}/chapters/{work.chapter_ids()[0]}")
            return self._show(work, None)

    async def _get_chapter(self, request: Request) -> Response:
        with self._archive.lock:
            work = self._archive.work_of_chapter(request.path_params["chapter"])
            if work.id != request.path_params["id"]:
                raise UnknownWorkError(f"the chapter belongs to work {work.id}")
            number = work.chapter_ids().index(request.path_params["chapter"]) + 1
            return self._refusal(request, work) or self._show(work, number)

    async def _find_chapter(self, request: Request) -> Response:
        chapter_id = request.path_params["chapter"]
        with self._archive.lock:
            work = self._archive.work_of_chapter(chapter_id)
        return _redirect(request, f"/works/{work.id}/chapters/{chapter_id}")

    async def _get_index(self, request: Request) -> Response:
        with self._archive.lock:
            work = self._archive.work(request.path_params["id"])
            return self._refusal(request, work) or HTMLResponse(navigate_page(work))

    async def _get_series(self, request: Request) -> Response:
        with self._archive.lock:
            series = self._archive.series(request.path_params["id"])
            return HTMLResponse(series_page(self._archive, series, page_number(request)))

    def _refusal(self, request: Request, work: Work) -> Response | None:
        """The answer that a guest gets instead of the work, if any; the archive checks in this order."""
        if work.deleted:
            raise UnknownWorkError(f"work {work.id} was deleted")
        if work.redirect_to is not None:
            return RedirectResponse(work.redirect_to, 302)
        if work.restricted:
            asked = quote(_below_prefix(request), safe="")
            return _redirect(request, f"/users/login?restricted=true&return_to={asked}")
        if work.unrevealed:
            return HTMLResponse(unrevealed_page(work))
        if work.is_adult and not _consents(request):
            return HTMLResponse(adult_gate(work, self._archive.series_of(work.id)))
        return None

    def _show(self, work: Work, chapter: int | None) -> Response:
        pieces = work_page(work, self._archive.series_of(work.id), chapter)
        return StreamingResponse(pieces, media_type="text/html; charset=utf-8")


def _consents(request: Request) -> bool:
    return "true" in (request.cookies.get(ADULT_CONSENT), request.query_params.get(ADULT_CONSENT))


def _below_prefix(request: Request) -> str:
    path = request.url.path.removeprefix(request.scope["root_path"])
    return f"{path}?{request.url.query}" if request.url.query else path


def _redirect(request: Request, path: str) -> Response:
    """Redirect to an absolute address, as the real archive does, below the address of this request."""
    url = request.url
    return RedirectResponse(f"{url.scheme}://{url.netloc}{request.scope['root_path']}{path}", 302)


async def _get_login(request: Request) -> Response:
    body = '<div id="signin"><h3 class="heading">Sorry!</h3>\n<p>Only members can see this work.</p></div>'
    return HTMLResponse(layout("Log In", "sessions-new system session", body))
