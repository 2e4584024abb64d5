"""Services that entries link to, and that describe an address by oEmbed."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simulator.answers import Answer, json_response, plain_error
from simulator.feeds.newsroom import Newsroom
from simulator.feeds.pages import embedding
from simulator.feeds.serving import base_of
from simulator.feeds.site import NewsSite


class EmbeddingSite(NewsSite):
    """Knows the entries whose `link` is an address of the service, that is, contains its name."""

    def __init__(self, newsroom: Newsroom, provider: str) -> None:
        super().__init__(newsroom)
        self.prefix = f"/{provider.lower()}"
        self._provider = provider

    def _routes(self) -> list[Route]:
        return [Route("/oembed", self._get_embedding)]

    def error(self, status: int, retry_after: str | None) -> Answer:
        return plain_error(status, retry_after)

    async def _get_embedding(self, request: Request) -> Response:
        wanted = request.query_params.get("url", "")
        if self._provider.lower() not in wanted:
            raise HTTPException(404)
        with self._newsroom.lock:
            names = (wanted, wanted.removeprefix(base_of(request)))
            entry = next((entry for entry in self._newsroom.all_entries() if entry.link in names), None)
            if entry is None:
                raise HTTPException(404)
            return json_response(embedding(self._around(entry, request), entry, self._provider, "rich"))
