"""A series: its description, its uploads, and its next chapter number."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import floor, isfinite

from simulator.ids import upload_id
from simulator.index import UploadIndex
from simulator.specs import SeriesSpec, UploadSpec
from simulator.upload import DEFAULT_PAGES, Upload, numeric_value

CHAPTERS_PER_RESET_VOLUME = 10


class Series:
    """Change it only through the world, which holds the lock and the index of all uploads."""

    def __init__(
        self, series_id: str, about: SeriesSpec, created_at: datetime, uploads_made: int = 0
    ) -> None:
        self.id = series_id
        self.about = about
        self.created_at = created_at
        self.uploads_made = uploads_made
        self.index = UploadIndex()
        self._languages: Counter[str] = Counter()
        self._highest: dict[float, float] = {}

    @property
    def title(self) -> str:
        return self.about.title

    @property
    def uploads(self) -> list[Upload]:
        return list(self.index)

    @property
    def available_languages(self) -> list[str]:
        return list(self._languages)

    def add(self, upload: Upload) -> None:
        self.index.add(upload)
        self._count(upload)

    def replace(self, upload: Upload) -> None:
        self.index.replace(upload)
        self._recount()

    def remove(self, upload: Upload) -> None:
        self.index.remove([upload.id])
        self._recount()

    def _recount(self) -> None:
        self._languages.clear()
        self._highest.clear()
        for remaining in self.index:
            self._count(remaining)

    def _count(self, upload: Upload) -> None:
        self._languages[upload.language] += 1
        number = numeric_value(upload.chapter)
        if isfinite(number):
            volume = numeric_value(upload.volume)
            self._highest[volume] = max(number, self._highest.get(volume, 0))

    def latest_upload(self, now: datetime) -> Upload | None:
        """The newest upload on MangaDex that is readable at `now`."""
        return next(iter(self.readable_on("mangadex", now)), None)

    def readable_on(self, site: str, now: datetime) -> Iterator[Upload]:
        """The site's uploads that are readable at `now`, newest first."""
        newest_first = self.index.view(
            ("readable", site),
            newest_first_key,
            lambda upload: not upload.is_unavailable and site in upload.sites,
        )
        return (upload for upload in newest_first if upload.readable_at <= now)

    def next_chapter(self) -> tuple[str, str | None]:
        """The number after the highest, and its volume: None unless each volume restarts the numbers."""
        if not self.about.resets:
            return str(floor(max(self._highest.values(), default=0)) + 1), None
        volume = max(filter(isfinite, self._highest), default=1)
        number = floor(self._highest.get(volume, 0))
        if number >= (self.about.chapters_per_volume or CHAPTERS_PER_RESET_VOLUME):
            volume, number = volume + 1, 0
        return str(number + 1), str(floor(volume))

    def draw_up(self, spec: UploadSpec, ordinal: int, now: datetime) -> Upload:
        """The upload of a spec, with defaults for its missing fields. Does not add it to the index."""
        self.uploads_made += 1
        chapter, volume = spec.chapter, spec.volume
        if "chapter" not in spec.model_fields_set:
            chapter, default_volume = self.next_chapter()
            volume = volume or default_volume
        created_at = spec.created_at or now
        publish_at = spec.publish_at or created_at
        default_pages = 0 if spec.external_url else DEFAULT_PAGES
        return Upload(
            id=spec.id or upload_id(self.id, self.uploads_made),
            series_id=self.id,
            ordinal=ordinal,
            chapter=chapter,
            volume=volume,
            title=spec.title,
            language=spec.language or self.about.languages[0],
            groups=self.about.groups if spec.groups is None else spec.groups,
            uploader=spec.uploader,
            external_url=spec.external_url,
            pages=default_pages if spec.pages is None else spec.pages,
            is_unavailable=spec.is_unavailable,
            created_at=created_at,
            updated_at=spec.updated_at or created_at,
            publish_at=publish_at,
            readable_at=spec.readable_at or publish_at,
            sites=self.about.sites if spec.sites is None else spec.sites,
        )


def history(about: SeriesSpec, now: datetime) -> Iterator[UploadSpec]:
    """The first uploads of a new series; evenly spaced ones end one interval before `now`."""
    if not isinstance(about.chapters, int):
        yield from about.chapters
        return
    interval = timedelta(hours=about.release_interval_hours)
    for position in range(about.chapters):
        chapter, volume = _place(about, about.chapters, position)
        moment = now - interval * (about.chapters - position)
        for language in about.languages:
            yield UploadSpec(chapter=chapter, volume=volume, language=language, created_at=moment)


def _place(about: SeriesSpec, total: int, position: int) -> tuple[str, str | None]:
    size = about.chapters_per_volume or (CHAPTERS_PER_RESET_VOLUME if about.resets else None)
    if size is None:
        return str(position + 1), None
    volume = position // size + 1
    if about.resets:
        return str(position % size + 1), str(volume)
    # Chapters get their volume only when the volume is complete.
    return str(position + 1), str(volume) if volume * size <= total else None


def newest_first_key(upload: Upload) -> tuple[float, ...]:
    return (-upload.readable_at.timestamp(), -upload.ordinal)
