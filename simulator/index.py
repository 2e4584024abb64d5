"""Sorted and filtered views of uploads that stay sorted while uploads are added."""

from bisect import insort
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

from simulator.upload import Upload

SortKey = Callable[[Upload], tuple[float, ...]]
Keep = Callable[[Upload], bool]

MAX_VIEWS = 32


@dataclass(frozen=True, slots=True)
class View:
    sort_key: SortKey
    keep: Keep
    uploads: list[Upload]


class UploadIndex:
    """Uploads by id in order of release.

    Not thread-safe, and a view is the live list: callers hold the world's lock until they are done with it.
    """

    def __init__(self) -> None:
        self._uploads: dict[str, Upload] = {}
        self._views: dict[Hashable, View] = {}

    def __len__(self) -> int:
        return len(self._uploads)

    def __iter__(self) -> Iterator[Upload]:
        return iter(self._uploads.values())

    def get(self, upload_id: str) -> Upload | None:
        return self._uploads.get(upload_id)

    def add(self, upload: Upload) -> None:
        self._uploads[upload.id] = upload
        for view in self._views.values():
            if view.keep(upload):
                insort(view.uploads, upload, key=view.sort_key)

    def replace(self, upload: Upload) -> None:
        """Replace the upload of the same id with a revised one."""
        self._uploads[upload.id] = upload
        self._views.clear()

    def remove(self, upload_ids: Iterable[str]) -> None:
        for upload_id in upload_ids:
            self._uploads.pop(upload_id, None)
        self._views.clear()

    def view(self, key: Hashable, sort_key: SortKey, keep: Keep) -> list[Upload]:
        """The uploads to keep, sorted. Equal keys must mean equal `sort_key` and `keep`."""
        known = self._views.get(key)
        if known is None:
            known = View(sort_key, keep, sorted(filter(keep, self), key=sort_key))
            if len(self._views) >= MAX_VIEWS:
                self._views.pop(next(iter(self._views)))
            self._views[key] = known
        return known.uploads
