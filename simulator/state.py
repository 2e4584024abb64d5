"""The world as a JSON file."""

import os
from datetime import datetime
from pathlib import Path
from typing import Literal

import orjson
from pydantic import BaseModel, ValidationError

from simulator.series import Series
from simulator.specs import SeriesSpec
from simulator.upload import Upload


class StateFileError(Exception):
    pass


class SavedSeries(BaseModel):
    id: str
    about: SeriesSpec
    created_at: datetime
    uploads_made: int
    uploads: list[Upload]

    @classmethod
    def of(cls, series: Series) -> "SavedSeries":
        # Validation would copy every upload, and our own uploads need none.
        return cls.model_construct(
            id=series.id,
            about=series.about,
            created_at=series.created_at,
            uploads_made=series.uploads_made,
            uploads=series.uploads,
        )

    def restore(self) -> Series:
        series = Series(self.id, self.about, self.created_at, self.uploads_made)
        for upload in self.uploads:
            series.add(upload)
        return series


class SavedWorld(BaseModel):
    version: Literal[1] = 1
    ordinal: int
    releases_made: int
    last_release_at: datetime | None
    series: list[SavedSeries]


def write_state(saved: SavedWorld, path: Path) -> None:
    """Replace the file in one step: a process that dies before the end leaves the old file."""
    replace_file(path, orjson.dumps(saved, default=_jsonable))


def replace_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    beside.write_bytes(content)
    beside.replace(path)


def read_state(path: Path) -> SavedWorld:
    try:
        return SavedWorld.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise StateFileError(f"cannot read the simulator's state from {path}: {error}") from error


def _jsonable(value: object) -> object:
    if isinstance(value, SeriesSpec):
        return value.model_dump(mode="json")
    if isinstance(value, BaseModel):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not part of a saved world")
