"""The scripted world behind the simulated upstreams: series and their uploads, which tests may change.

Errors: WorldError
          UnknownSeriesError   no series of that id, or it was removed
          UnknownUploadError   no upload of that id, or it was withdrawn
          TakenError           the id or title is in use
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock

from simulator.ids import derived_id
from simulator.index import UploadIndex
from simulator.series import Series, history
from simulator.specs import SeriesSpec, UploadSpec, to_utc_second
from simulator.state import SavedSeries, SavedWorld, read_state, write_state
from simulator.upload import Upload, revised

Clock = Callable[[], datetime]


class WorldError(Exception):
    pass


class UnknownSeriesError(WorldError):
    pass


class UnknownUploadError(WorldError):
    pass


class TakenError(WorldError):
    pass


def utc_now() -> datetime:
    return datetime.now(UTC)


class World:
    """Safe to use from several threads; hold `lock` to read more than one thing at once."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self.lock = RLock()
        self.clock = clock
        self.series: dict[str, Series] = {}
        self.index = UploadIndex()
        self.releases_made = 0
        self.last_release_at: datetime | None = None
        self._ordinal = 0
        self._state_file: Path | None = None
        self._changes_under_way = 0

    def now(self) -> datetime:
        return to_utc_second(self.clock())

    def find_series(self, series_id: str) -> Series:
        try:
            return self.series[series_id]
        except KeyError:
            raise UnknownSeriesError(f"no series {series_id}") from None

    def find_upload(self, upload_id: str) -> Upload:
        upload = self.index.get(upload_id)
        if upload is None:
            raise UnknownUploadError(f"no upload {upload_id}")
        return upload

    def add_series(self, about: SeriesSpec) -> Series:
        """Add a series with its history. Its id follows from its title unless it is given."""
        series_id = about.id or derived_id("series", about.title)
        with self.changing():
            if series_id in self.series:
                raise TakenError(f"series {series_id} ({self.series[series_id].title}) is there already")
            past = list(history(about, self.now()))
            self._check_ids_are_free(past)
            self.series[series_id] = Series(series_id, about.model_copy(update={"chapters": 0}), self.now())
            if past:
                self.release(series_id, *past)
        return self.series[series_id]

    def remove_series(self, series_id: str) -> None:
        with self.changing():
            series = self.find_series(series_id)
            self.index.remove([upload.id for upload in series.index])
            del self.series[series_id]

    def release(self, series_id: str, *specs: UploadSpec) -> list[Upload]:
        """Upload chapters, all or none; without a spec, the next number in the first language."""
        with self.changing():
            series = self.find_series(series_id)
            specs = specs or (UploadSpec(),)
            self._check_ids_are_free(specs)
            return [self._release_one(series, spec) for spec in specs]

    def _check_ids_are_free(self, specs: list[UploadSpec] | tuple[UploadSpec, ...]) -> None:
        wanted = [spec.id for spec in specs if spec.id]
        taken = {upload_id for upload_id in wanted if self.index.get(upload_id)}
        if taken or len(set(wanted)) < len(wanted):
            raise TakenError(f"upload ids are in use or repeated: {sorted(taken or set(wanted))}")

    def _release_one(self, series: Series, spec: UploadSpec) -> Upload:
        self._ordinal += 1
        upload = series.draw_up(spec, self._ordinal, self.now())
        series.add(upload)
        self.index.add(upload)
        return upload

    def revise(self, upload_id: str, spec: UploadSpec) -> Upload:
        """Change the fields that the spec sets, for example a volume that is assigned later."""
        with self.changing():
            upload = revised(self.find_upload(upload_id), spec, self.now())
            self.series[upload.series_id].replace(upload)
            self.index.replace(upload)
            return upload

    def withdraw(self, upload_id: str) -> Upload:
        """Take an upload away; nothing lists it any more."""
        with self.changing():
            upload = self.find_upload(upload_id)
            self.series[upload.series_id].remove(upload)
            self.index.remove([upload.id])
            return upload

    def clear(self) -> None:
        with self.changing():
            self.series.clear()
            self.index = UploadIndex()
            self._ordinal = self.releases_made = 0
            self.last_release_at = None

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock, and write the state file once when the outermost change is done."""
        with self.lock:
            self._changes_under_way += 1
            try:
                yield
            finally:
                self._changes_under_way -= 1
            if self._state_file and not self._changes_under_way:
                self.save(self._state_file)

    def autosave(self, path: Path) -> None:
        """From now on, every change is in the file before the call that made it returns."""
        self._state_file = path
        self.save(path)

    def save(self, path: Path) -> None:
        with self.lock:
            saved = SavedWorld(
                ordinal=self._ordinal,
                releases_made=self.releases_made,
                last_release_at=self.last_release_at,
                series=[SavedSeries.of(series) for series in self.series.values()],
            )
            write_state(saved, path)

    @classmethod
    def load(cls, path: Path, clock: Clock = utc_now) -> "World":
        """Raises StateFileError when the file is not one that `save` wrote."""
        saved = read_state(path)
        world = cls(clock)
        world._ordinal = saved.ordinal
        world.releases_made = saved.releases_made
        world.last_release_at = saved.last_release_at
        for series in (saved_series.restore() for saved_series in saved.series):
            world.series[series.id] = series
        for upload in sorted((u for s in world.series.values() for u in s.index), key=lambda u: u.ordinal):
            world.index.add(upload)
        return world
