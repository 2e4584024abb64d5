import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fascicle.embedded import DataFolder, DataFolderCorrupt, DataFolderInUse, read_running_stack

STACK: dict[str, str | int] = {"temporal_address": "127.0.0.1:7233", "pid": 1}

OWNER = """
import pathlib, sys
from fascicle.embedded import DataFolder
folder = DataFolder(pathlib.Path(sys.argv[1]))
folder.publish({"owner": "helper"})
print("ready", flush=True)
sys.stdin.read()
"""


def test_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    with DataFolder(tmp_path / "a" / "b") as folder:
        assert folder.path.stat().st_mode & 0o777 == 0o700


def test_second_use_is_refused_and_names_the_owner(tmp_path: Path) -> None:
    says = rf"{tmp_path}/data is in use by process {os.getpid()}\b.*Stop"
    with DataFolder(tmp_path / "data"), pytest.raises(DataFolderInUse, match=says):
        DataFolder(tmp_path / "data")
    DataFolder(tmp_path / "data").close()


def test_stack_is_readable_while_its_owner_lives(tmp_path: Path) -> None:
    assert read_running_stack(tmp_path / "data") is None
    with DataFolder(tmp_path / "data") as folder:
        assert read_running_stack(folder.path) is None
        folder.publish(STACK)
        assert read_running_stack(folder.path) == STACK
    assert read_running_stack(folder.path) is None
    assert not (folder.path / "stack.json").exists()


def test_killed_owner_leaves_neither_lock_nor_stack(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "data")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        assert read_running_stack(tmp_path / "data") == {"owner": "helper"}
        with pytest.raises(DataFolderInUse, match=str(owner.pid)):
            DataFolder(tmp_path / "data")
        owner.kill()
    assert (tmp_path / "data" / "stack.json").exists()
    assert read_running_stack(tmp_path / "data") is None
    with DataFolder(tmp_path / "data"):
        assert read_running_stack(tmp_path / "data") is None


def a_file(path: Path) -> None:
    path.rmdir()
    path.write_text("a letter")


def cluster_without_version(path: Path) -> None:
    DataFolder(path).close()
    (path / "postgres").mkdir()
    (path / "postgres" / "base").mkdir()


def cluster_of_another_version(path: Path) -> None:
    DataFolder(path).close()
    (path / "postgres").mkdir()
    (path / "postgres" / "PG_VERSION").write_text("16\n")


def cluster_that_is_a_file(path: Path) -> None:
    DataFolder(path).close()
    (path / "postgres").write_text("")


def temporal_file_that_is_no_database(path: Path) -> None:
    DataFolder(path).close()
    (path / "temporal.db").write_text("<html>not found</html>")


def somebody_elses_folder(path: Path) -> None:
    (path / "holiday.jpg").write_text("")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (a_file, "is a file.*choose another"),
        (cluster_without_version, "not a PostgreSQL cluster.*Move it away"),
        (cluster_of_another_version, "PostgreSQL 16.*runs PostgreSQL 18.*Dump it"),
        (cluster_that_is_a_file, "not a PostgreSQL cluster.*Move it away"),
        (temporal_file_that_is_no_database, "not an SQLite file.*Move it away"),
        (somebody_elses_folder, "holiday.jpg.*Choose an empty"),
    ],
)
def test_folder_that_cannot_be_ours_is_refused_and_left_alone(
    tmp_path: Path, spoil: Callable[[Path], None], says: str
) -> None:
    path = tmp_path / "data"
    path.mkdir(mode=0o755)
    spoil(path)
    before = sorted(tmp_path.rglob("*"))
    for _ in range(2):
        with pytest.raises(DataFolderCorrupt, match=says):
            DataFolder(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    # /proc takes no files, not even root's.
    with pytest.raises(DataFolderCorrupt, match="cannot be used by this user"):
        DataFolder(Path("/proc/fascicle-data"))


def test_o6_keys_and_files_that_were_there_first_do_not_shut_the_folder(tmp_path: Path) -> None:
    (tmp_path / "token-keys").write_text("k:…")
    (tmp_path / "files").mkdir()
    with DataFolder(tmp_path):
        assert (tmp_path / "token-keys").exists()
