"""The articles of the simulated press, under one lock and in one file."""

from datetime import datetime
from pathlib import Path
from threading import RLock

from pydantic import ValidationError

from simulator.ids import slug
from simulator.press.records import Article, ArticleSpec, Saved
from simulator.specs import to_utc_second
from simulator.state import StateFileError, replace_file
from simulator.world import Clock, TakenError, UnknownSeriesError, utc_now


class UnknownArticleError(UnknownSeriesError):
    pass


class Press:
    """Safe to use from several threads. A change is in the file before the call that made it returns."""

    def __init__(self, state_file: Path | None = None, clock: Clock = utc_now) -> None:
        self.lock = RLock()
        self._saved = _load(state_file) if state_file and state_file.exists() else Saved()
        self._state_file = state_file
        self._clock = clock

    def now(self) -> datetime:
        return to_utc_second(self._clock())

    def add(self, spec: ArticleSpec) -> Article:
        title = spec.title or f"The {spec.kind.replace('_', ' ')} page"
        name = spec.slug or slug(title) or "untitled"
        with self.lock:
            if name in self._saved.articles:
                raise TakenError(f"there is an article {name}")
            at = spec.published_at or self.now()
            article = Article(**{**dict(spec), "title": title, "slug": name, "published_at": at})
            self._saved.articles[name] = article
            self._save()
            return article

    def remove(self, name: str) -> Article:
        """Remove the article; its address is a 404 from now on."""
        with self.lock:
            removed = self._saved.articles.pop(self.article(name).slug)
            self._save()
            return removed

    def article(self, name: str) -> Article:
        try:
            return self._saved.articles[name]
        except KeyError:
            raise UnknownArticleError(f"no article {name}") from None

    def articles(self) -> list[Article]:
        """All articles, in the order in which they were added."""
        with self.lock:
            return list(self._saved.articles.values())

    def clear(self) -> None:
        with self.lock:
            self._saved = Saved()
            self._save()

    def _save(self) -> None:
        if self._state_file:
            replace_file(self._state_file, self._saved.model_dump_json().encode())


def _load(path: Path) -> Saved:
    try:
        return Saved.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise StateFileError(f"cannot read the press's state from {path}: {error}") from error
