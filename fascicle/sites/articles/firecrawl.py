"""Firecrawl: a service that fetches pages with a browser, in its own cloud or self-hosted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import SecretStr

from fascicle.domain.errors import MustWait, PermanentError, RetryableError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.urls import place
from fascicle.net.answers import Answer, retry_after
from fascicle.net.http import Gated, HttpClient
from fascicle.sites import fields
from fascicle.sites.articles.kinds import check_kind
from fascicle.sites.pages.fetching import judge_page

FIRECRAWL_CLOUD = "https://api.firecrawl.dev"
GATE = Gated("firecrawl", GatePolicy(0.05, ceiling=60.0))
# Added to the time that Firecrawl itself may take, so that its own error arrives.
_MARGIN_SECONDS = 5.0
_VERSION = re.compile(r"/v\d+$")
_SAID = ("title", "language", "author", "site_name", "published_at")
_NAMES = {
    "title": ("ogTitle", "og:title", "title"),
    "language": ("language", "ogLocale", "og:locale"),
    "author": ("author", "article:author"),
    "site_name": ("ogSiteName", "og:site_name"),
    "published_at": ("publishedTime", "article:published_time", "datePublished", "dc.date"),
}
# Parts of Firecrawl's error codes that mean a refusal.
_REFUSALS = ("UNAUTHORIZED", "FORBIDDEN", "BAD_REQUEST", "INVALID", "DENIAL", "ZDR", "NOT_ALLOWED")


@dataclass(frozen=True)
class Scraped:
    url: str
    """The address of the page after redirects."""
    markdown: str
    said: dict[str, str]
    """Metadata of the page, as far as known: title, language, author, site_name, published_at."""


class Firecrawl:
    """`pages` is the client whose guard checks the pages' addresses; Firecrawl's own need not pass it."""

    def __init__(
        self,
        http: HttpClient,
        *,
        pages: HttpClient,
        base_url: str,
        api_key: SecretStr | None,
        timeout_seconds: float = 60,
    ) -> None:
        self._http = http
        self._pages = pages
        self._address = _VERSION.sub("", base_url.rstrip("/")) + "/v2/scrape"
        self._key = api_key
        self._seconds = timeout_seconds

    async def scrape(self, url: str) -> Scraped:
        """The page as Markdown. A private address is refused, because Firecrawl may run in our network."""
        await self._pages.check_address(url)
        answer = await self._http.send(
            "POST",
            self._address,
            GATE,
            headers=self._headers(),
            json={
                "url": url,
                "formats": ["markdown"],
                "onlyMainContent": True,
                # No old copy from its cache, and no PDFs, which cost by the page.
                "maxAge": 0,
                "parsers": [],
                "timeout": round(self._seconds * 1000),
            },
            judge=self._judge,
            timeout_seconds=self._seconds + _MARGIN_SECONDS,
        )
        return await self._scraped(answer, url)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key else {}

    async def _scraped(self, answer: Answer, url: str) -> Scraped:
        content = _object(_object(answer.json()).get("data"))
        metadata = _object(content.get("metadata"))
        final = fields.address(_first(metadata, "url", "sourceURL"), url) or url
        if final != url:
            await self._pages.check_address(final)
        _judge_origin(metadata, final)
        check_kind(b"", final, _first(metadata, "contentType"))
        markdown = content.get("markdown")
        if not isinstance(markdown, str):
            raise RetryableError("bad_answer", f"Firecrawl answered without a text for {place(url)}.")
        said = {name: value for name in _SAID if (value := _first(metadata, *_NAMES[name]))}
        return Scraped(final, markdown, said)

    def _judge(self, answer: Answer) -> None:
        """Judges Firecrawl's own answer; the page's own status is judged later."""
        status = answer.status
        if status < 300:
            said = _object(answer.json())
            if said.get("success") is not True:
                self._raise_for_code(said, answer)
            return
        words = self._words(answer)
        wait = retry_after(answer.headers)
        if status == 429:
            raise MustWait("rate_limited", words, seconds=wait or 30.0, refused=True, http_status=status)
        if (status >= 500 or status == 408) and wait is not None:
            raise MustWait("unavailable", words, seconds=wait, refused=True, http_status=status)
        if status == 408 or status >= 500:
            code = "timeout" if status == 408 else "server_error"
            raise RetryableError(code, words, http_status=status)
        if status == 402:
            raise _no_credits(words, status)
        raise _refused(words, status)

    def _raise_for_code(self, said: Mapping[str, Any], answer: Answer) -> None:
        """Raise a failure within a 200 by its code; with an unknown code it is retryable."""
        words, code = self._words(answer), str(said.get("code") or "").upper()
        if "UNSUPPORTED_FILE" in code:
            raise PermanentError("unsupported_type", words)
        if "CREDIT" in code or "PAYMENT" in code:
            raise _no_credits(words, answer.status)
        if "RATE" in code:
            raise MustWait("rate_limited", words, seconds=retry_after(answer.headers) or 30.0, refused=True)
        if any(refusal in code for refusal in _REFUSALS):
            raise _refused(words, answer.status)
        raise RetryableError("timeout" if "TIMEOUT" in code else "server_error", words)

    def _words(self, answer: Answer) -> str:
        """Firecrawl's message, without our key in case it repeats the key."""
        words = f"Firecrawl answered {answer.status}"
        try:
            said = _object(answer.json())
        except RetryableError:
            return f"{words}."
        told = [str(said[name])[:200] for name in ("code", "error") if said.get(name)]
        line = fields.text(f"{words}: {': '.join(told)}" if told else f"{words}.") or words
        return line.replace(self._key.get_secret_value(), "…") if self._key else line


def _judge_origin(metadata: Mapping[str, Any], url: str) -> None:
    """Judge the page's own status as if we had fetched the page: a 404 arrives within a 200."""
    status = metadata.get("statusCode")
    if isinstance(status, int) and not isinstance(status, bool) and status >= 400:
        judge_page(Answer(status, url, httpx.Headers(), b""))


def _first(metadata: Mapping[str, Any], *names: str) -> str | None:
    """The first value. Firecrawl makes a list of values that a page has twice."""
    for name in names:
        value = metadata.get(name)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str) and value.strip():
            return value.strip()[:2000]
    return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _no_credits(words: str, status: int) -> PermanentError:
    return PermanentError(
        "firecrawl_credits", f"{words} Its account has no credits left: add some.", http_status=status
    )


def _refused(words: str, status: int) -> PermanentError:
    return PermanentError(
        "firecrawl_refused",
        f"{words} Check FASCICLE_FIRECRAWL_URL and FASCICLE_FIRECRAWL_API_KEY.",
        http_status=status,
    )
