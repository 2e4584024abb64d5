"""The free space on the data folder's disk: without it, PostgreSQL, Temporal and logs all stop."""

import shutil
from pathlib import Path

# Below this, nothing works reliably any more; a checkpoint alone writes as much.
FULL_BYTES = 100 * 1024 * 1024
# Below this a person should make room.
LOW_BYTES = 1024 * 1024 * 1024


def free_bytes(folder: Path) -> int:
    """The free bytes on the file system of the folder, or of its nearest parent that exists."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free
