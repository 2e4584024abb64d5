"""The part of RoyalRoad that a reader of a fiction's page needs: two invented fictions that never change."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from simulator.answers import Answer
from simulator.ids import slug
from simulator.site import RoutedSite, html_error


@dataclass(frozen=True)
class Fiction:
    id: int
    title: str
    author: str
    summary: str
    genres: tuple[str, ...]
    labels: tuple[str, ...]
    chapters: tuple[str, ...]
    words: int
    published: str
    updated: str


FICTIONS = {
    fiction.id: fiction
    for fiction in (
        Fiction(
            id=71001,
            title="The Cartographer of Small Rooms",
            author="quillandtide",
            summary="She maps one room a day. <em>The last one maps her.</em>",
            genres=("Fantasy", "Slice of Life"),
            labels=("Original", "ONGOING"),
            chapters=("The Pantry", "The Stairwell", "The Room Above"),
            words=18_204,
            published="2025-03-02T09:00:00+00:00",
            updated="2026-08-14T18:30:00+00:00",
        ),
        Fiction(
            id=71002,
            title="Lanterns & Low Water",
            author="marsh_heron",
            summary="A ferryman, a flood, and a debt that floats.",
            genres=("Adventure",),
            labels=("Fan Fiction", "COMPLETED"),
            chapters=("Ebb", "Flood"),
            words=6_950,
            published="2024-11-20T12:00:00+00:00",
            updated="2025-01-05T07:45:00+00:00",
        ),
    )
}


class RoyalRoad(RoutedSite):
    name = "royalroad"

    def _routes(self) -> Sequence[Route]:
        return [
            Route("/fiction/{id:int}", self._get_fiction),
            Route("/fiction/{id:int}/{slug}", self._get_fiction),
        ]

    def error(self, status: int, retry_after: str | None) -> Answer:
        return html_error(status, retry_after)

    async def _get_fiction(self, request: Request) -> Response:
        fiction = FICTIONS.get(request.path_params["id"])
        if fiction is None:
            raise HTTPException(404)
        return HTMLResponse(fiction_page(fiction))


def fiction_page(fiction: Fiction) -> str:
    about = {
        "name": fiction.title,
        "author": {"name": fiction.author, "url": f"https://www.royalroad.com/profile/{fiction.id}"},
        "description": fiction.summary,
        "datePublished": fiction.published,
        "dateModified": fiction.updated,
    }
    genres = "".join(
        f'<a href="/fictions/search?tagsAdd={slug(genre)}">{escape(genre)}</a>' for genre in fiction.genres
    )
    labels = "".join(f'<span class="bg-accent">{escape(label)}</span>' for label in fiction.labels)
    return f"""<!DOCTYPE html>
<html><head><title>{escape(fiction.title)} | Royal Road</title>
<meta property="books:rating:value" content="4.5">
<script type="application/ld+json">{_in_script(about)}</script>
</head><body>
<a href="/home/reverttolegacyui">The old design</a>
<div id="chapterHeroData">{labels}{genres}</div>
<p>275 words per page, calculated from {fiction.words:,} words.</p>
<script>
window.chapters = {_in_script([_chapter(fiction, number) for number in range(len(fiction.chapters))])};
</script>
</body></html>"""


def _chapter(fiction: Fiction, number: int) -> dict[str, str | int | bool]:
    title, chapter_id = fiction.chapters[number], fiction.id * 100 + number
    place = f"/fiction/{fiction.id}/{slug(fiction.title)}/chapter/{chapter_id}/{slug(title)}"
    return {"id": chapter_id, "title": title, "date": fiction.updated, "isUnlocked": True, "url": place}


def _in_script(value: object) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(value).replace("</", "<\\/")
