"""Lock files of a PostgreSQL that was killed."""

from contextlib import suppress
from pathlib import Path

from fascicle.embedded.socketfolder import SOCKET_PORT


def remove_stale_pid_files(cluster: Path, socket_folder: Path) -> None:
    """Remove lock files with the id of a process that is not a server of this cluster.

    PostgreSQL itself recognises a dead process id, but not one that another process has by now. After the
    restart of a container that is usual.
    """
    for file in (cluster / "postmaster.pid", socket_folder / f".s.PGSQL.{SOCKET_PORT}.lock"):
        with suppress(FileNotFoundError, ValueError, IndexError):
            pid = int(file.read_text().splitlines()[0])
            if _is_another_program(pid, cluster):
                file.unlink()


def _is_another_program(pid: int, cluster: Path) -> bool:
    # A server's working directory is its cluster. Without /proc nothing is known, so nothing is removed.
    try:
        return Path(f"/proc/{pid}/cwd").readlink() != cluster
    except PermissionError:
        return True
    except OSError:
        return False
