"""The control client's methods for the press: the same as in process, over the control API."""

from pydantic import TypeAdapter

from simulator.deviantart.client import Call
from simulator.press.records import Article, ArticleSpec

ARTICLES = TypeAdapter(list[Article])


class PressClient:
    def __init__(self, call: Call) -> None:
        self._call = call

    async def add(self, spec: ArticleSpec) -> Article:
        body = spec.model_dump(mode="json", exclude_unset=True)
        return ARTICLES.validate_json(await self._call("POST", "/press/articles", body))[0]

    async def remove(self, slug: str) -> Article:
        """Remove the article; its address is a 404 from now on."""
        return Article.model_validate_json(await self._call("DELETE", f"/press/articles/{slug}"))

    async def articles(self) -> list[Article]:
        """All articles, in the order in which they were added."""
        return ARTICLES.validate_json(await self._call("GET", "/press/articles"))

    async def clear(self) -> None:
        await self._call("DELETE", "/press")
