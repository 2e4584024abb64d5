"""The works and series of the simulated archive, under one lock and in one file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from pydantic import ValidationError

from simulator.ao3.records import Ao3Series, Ao3SeriesSpec, Place, Saved, Work, WorkSpec
from simulator.state import StateFileError, replace_file
from simulator.world import TakenError, UnknownSeriesError

FIRST_ID = 70_000_000


class UnknownWorkError(UnknownSeriesError):
    pass


class Archive:
    """Safe to use from several threads. A change is in the file before the call that made it returns."""

    def __init__(self, state_file: Path | None = None) -> None:
        self.lock = RLock()
        self._saved = _load(state_file) if state_file and state_file.exists() else Saved()
        self._state_file = state_file
        self._changes_under_way = 0

    def work(self, work_id: int) -> Work:
        try:
            return self._saved.works[work_id]
        except KeyError:
            raise UnknownWorkError(f"AO3 has no work {work_id}") from None

    def series(self, series_id: int) -> Ao3Series:
        try:
            return self._saved.series[series_id]
        except KeyError:
            raise UnknownSeriesError(f"AO3 has no series {series_id}") from None

    def work_of_chapter(self, chapter_id: int) -> Work:
        work = self.work(chapter_id // 1000)
        if chapter_id not in work.chapter_ids():
            raise UnknownWorkError(f"AO3 has no chapter {chapter_id}")
        return work

    def series_of(self, work_id: int) -> list[tuple[int, Ao3Series]]:
        """The series that contain the work, each with the work's part number."""
        return [
            (part, series)
            for series in self._saved.series.values()
            for part, member in sorted(series.parts.items())
            if member == work_id
        ]

    def members(self, series: Ao3Series) -> list[tuple[int, Work]]:
        """The series' works in the order of their parts, without deleted ones."""
        works = ((part, self._saved.works[work_id]) for part, work_id in sorted(series.parts.items()))
        return [(part, work) for part, work in works if not work.deleted]

    def add_work(self, spec: WorkSpec) -> Work:
        with self.changing():
            work_id = self._free_id(spec.id, self._saved.works)
            for place in spec.series:
                self.series(place.series)
            work = Work(**{**dict(spec), "id": work_id}, change_token=self._next_token())
            self._saved.works[work_id] = work
            for place in spec.series:
                self._put(work_id, place)
            return work

    def update_work(self, work_id: int, change: WorkSpec) -> Work:
        """Change the fields that are set, but neither id nor series; the work gets a new change token."""
        with self.changing():
            fields = change.model_fields_set - {"id", "series"}
            changed = {name: getattr(change, name) for name in fields}
            work = self.work(work_id).model_copy(update={**changed, "change_token": self._next_token()})
            self._saved.works[work_id] = work
            return work

    def add_series(self, spec: Ao3SeriesSpec) -> Ao3Series:
        with self.changing():
            for work_id in spec.works:
                self.work(work_id)
            series_id = self._free_id(spec.id, self._saved.series)
            parts = dict(enumerate(spec.works, start=1))
            series = Ao3Series(**{**dict(spec), "id": series_id}, parts=parts)
            self._saved.series[series_id] = series
            return series

    def clear(self) -> None:
        with self.changing():
            self._saved = Saved()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock, and write the file once when the outermost change is done."""
        with self.lock:
            self._changes_under_way += 1
            try:
                yield
            finally:
                self._changes_under_way -= 1
            if self._state_file and not self._changes_under_way:
                replace_file(self._state_file, self._saved.model_dump_json().encode())

    def _put(self, work_id: int, place: Place) -> None:
        parts = self.series(place.series).parts
        part = place.part or max(parts, default=0) + 1
        if part in parts:
            raise TakenError(f"part {part} of series {place.series} is work {parts[part]}")
        parts[part] = work_id

    def _free_id(self, wanted: int | None, taken: dict[int, Work] | dict[int, Ao3Series]) -> int:
        if wanted is None:
            self._saved.last_id += 1
            return FIRST_ID + self._saved.last_id
        if wanted in taken:
            raise TakenError(f"AO3's id {wanted} is in use")
        return wanted

    def _next_token(self) -> int:
        self._saved.changes += 1
        return 1_767_600_000 + self._saved.changes


def _load(path: Path) -> Saved:
    try:
        return Saved.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise StateFileError(f"cannot read AO3's state from {path}: {error}") from error
