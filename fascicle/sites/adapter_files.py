"""Finds adapter files without reading them (docs/adapters.md)."""

from collections.abc import Iterator
from pathlib import Path

_ENDINGS = (".yaml", ".yml")


def adapter_files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(file for file in folder.iterdir() if file.suffix in _ENDINGS)


def has_adapters(folder: Path) -> bool:
    return next(adapter_files(folder), None) is not None
