"""How much room is left where the data folder is: PostgreSQL, Temporal and logs all stop without it."""

import shutil
from pathlib import Path

# Below this nothing can be relied on any more; a checkpoint alone writes as much.
FULL_BYTES = 100 * 1024 * 1024
# Below this a person should make room.
LOW_BYTES = 1024 * 1024 * 1024


def free_bytes(folder: Path) -> int:
    """On the file system of the folder, or of what is there of its path."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free
