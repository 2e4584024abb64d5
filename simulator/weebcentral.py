"""The WeebCentral pages that a reader of chapter lists needs."""

from collections.abc import Sequence
from html import escape
from itertools import islice

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from simulator.answers import Answer
from simulator.catalogue import latest_on, series_key
from simulator.ids import slug, ulid
from simulator.site import RoutedSite, html_error, html_page, page_number
from simulator.upload import Upload

UPDATES_PER_PAGE = 32
OFFICIAL_BADGE = '<img src="/static/images/chapter-badge-official.svg" alt="" width="16" height="16">'
FOOT = '<a href="#top" aria-label="back to top"></a>'


class WeebCentral(RoutedSite):
    name = "weebcentral"

    def _routes(self) -> Sequence[Route]:
        return [
            Route("/series/{key}/full-chapter-list", self._get_list),
            Route("/series/{key}", self._get_series),
            Route("/series/{key}/{slug}", self._get_series),
            Route("/latest-updates/{page}", self._get_updates),
        ]

    def error(self, status: int, retry_after: str | None) -> Answer:
        return html_error(status, retry_after)

    async def _get_series(self, request: Request) -> Response:
        with self._world.lock:
            series = self._series(request)
            return html_page(
                f"{series.title} | Weeb Central", f"<section><h1>{escape(series.title)}</h1></section>"
            )

    async def _get_list(self, request: Request) -> Response:
        with self._world.lock:
            uploads = filter(_is_english, self._uploads(self._series(request)))
            return HTMLResponse("\n".join([*map(_chapter, uploads), FOOT]))

    async def _get_updates(self, request: Request) -> Response:
        start = (page_number(request, request.path_params["page"]) - 1) * UPDATES_PER_PAGE
        with self._world.lock:
            newest = latest_on(self._world, self.name, self._world.now())
            page = islice(filter(_is_english, newest), start, start + UPDATES_PER_PAGE)
            return HTMLResponse("\n".join(map(self._update, page)))

    def _update(self, upload: Upload) -> str:
        series = self._world.series[upload.series_id]
        place = f"https://weebcentral.com/series/{series_key(self.name, series)}/{slug(series.title)}"
        return f"""<article data-tip="{escape(series.title)}">
  <a href="{place}"><picture></picture></a>
  <a href="https://weebcentral.com/chapters/{ulid(upload.id)}">
    <div class="font-semibold text-lg">{escape(series.title)}</div>
    <div><span>{escape(_label(upload))}</span></div>
    <div><time datetime="{upload.readable_at.isoformat()}"></time></div>
  </a>
</article>"""


def _is_english(upload: Upload) -> bool:
    return upload.language == "en"


def _chapter(upload: Upload) -> str:
    stamp = upload.readable_at.isoformat()
    return f"""<div class="flex items-center" x-data="{{ new_chapter: checkNewChapter('{stamp}') }}">
  <a href="/chapters/{ulid(upload.id)}" class="flex-1 flex items-center p-2">
    <span class="me-2">{OFFICIAL_BADGE if upload.external_url else ""}</span>
    <span class="grow flex items-center gap-2"><span class="">{escape(_label(upload))}</span></span>
    <time class="opacity-50" datetime="{stamp}">{stamp}</time>
  </a>
  <input type="checkbox" value="{ulid(upload.id)}" name="chapter_id">
</div>"""


def _label(upload: Upload) -> str:
    return f"Chapter {upload.chapter}" if upload.chapter else upload.title or "Oneshot"
