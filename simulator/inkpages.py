"""InkPages, an invented site of plain HTML: numbered pages, newest first (sites.d/inkpages.yaml)."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simulator.answers import Answer
from simulator.catalogue import latest_on, series_key
from simulator.ids import short_id
from simulator.site import RoutedSite, html_error, html_page, page_number
from simulator.upload import Upload

PER_PAGE = 20


class InkPages(RoutedSite):
    name = "inkpages"

    def _routes(self) -> Sequence[Route]:
        return [
            Route("/comic/{key}", self._get_comic),
            Route("/comic/{key}/chapters", self._get_chapters),
            Route("/latest", self._get_latest),
        ]

    def error(self, status: int, retry_after: str | None) -> Answer:
        return html_error(status, retry_after)

    async def _get_comic(self, request: Request) -> Response:
        with self._world.lock:
            series = self._series(request)
            return html_page(
                f"{series.title} - InkPages",
                f'<h1 class="comic-title">{escape(series.title)}</h1>',
                f'<p class="author">{escape(series.about.author)}</p>',
            )

    async def _get_chapters(self, request: Request) -> Response:
        with self._world.lock:
            series = self._series(request)
            uploads = self._uploads(series)
            rows, pager = self._page(request, uploads)
        chapters = "\n".join(map(self._chapter, rows))
        return html_page(
            series.title,
            f'<p class="count">{len(uploads)} chapters</p>',
            f'<ol class="chapters">\n{chapters}\n</ol>',
            pager,
        )

    async def _get_latest(self, request: Request) -> Response:
        with self._world.lock:
            rows, pager = self._page(request, latest_on(self._world, self.name, self._world.now()))
            updates = "\n".join(map(self._update, rows))
        return html_page("Latest - InkPages", f'<ul class="updates">\n{updates}\n</ul>', pager)

    def _page(self, request: Request, newest: Iterable[Upload]) -> tuple[list[Upload], str]:
        """The page's rows, and the link to the next page if there is one."""
        number = page_number(request)
        start = (number - 1) * PER_PAGE
        rows = list(islice(newest, start, start + PER_PAGE + 1))
        more = f'<a class="next" href="?page={number + 1}">Older</a>' if len(rows) > PER_PAGE else ""
        return rows[:PER_PAGE], f'<nav class="pager">{more}</nav>'

    def _chapter(self, upload: Upload) -> str:
        return f"""<li class="chapter" data-id="{short_id(upload.id)}" data-language="{upload.language}">
  <a href="{self.prefix}/read/{short_id(upload.id)}">{escape(_label(upload))}</a>
  {" ".join(f'<span class="team">{escape(group)}</span>' for group in upload.groups)}
  <time datetime="{upload.readable_at.isoformat()}">{upload.readable_at:%d %b %Y}</time>
</li>"""

    def _update(self, upload: Upload) -> str:
        series = self._world.series[upload.series_id]
        return f"""<li class="update" data-language="{upload.language}">
  <a class="comic" href="{self.prefix}/comic/{series_key(self.name, series)}">{escape(series.title)}</a>
  <a class="read" href="{self.prefix}/read/{short_id(upload.id)}">{escape(_label(upload))}</a>
  <time datetime="{upload.readable_at.isoformat()}"></time>
</li>"""


def _label(upload: Upload) -> str:
    if upload.chapter is None:
        return upload.title or "Oneshot"
    return f"Chapter {upload.chapter}" + (f": {upload.title}" if upload.title else "")
