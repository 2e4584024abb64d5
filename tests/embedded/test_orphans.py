"""What is left when the whole stack dies without a chance to clear up, and stacks of ordinary users."""

import asyncio
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from fascicle.embedded import (
    DataFolder,
    EmbeddedPostgres,
    EmbeddedTemporal,
    Supervisor,
    read_running_stack,
)
from fascicle.embedded.stale import remove_stale_pid_files
from tests.embedded.waiting import is_running, until

PROJECT = Path(__file__).parents[2]
STACK_PROCESS = (sys.executable, "-m", "tests.embedded.stack_process")


async def test_killed_supervisor_takes_its_children_along_and_the_next_start_works(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with subprocess.Popen([*STACK_PROCESS, str(path)], cwd=PROJECT) as supervisor:
        await until(lambda: supervisor.poll() is not None or read_running_stack(path), seconds=20)
        stack = read_running_stack(path)
        assert stack is not None
        supervisor.kill()
    pids = [int(stack[name]) for name in ("postgres", "temporal", "sleeper")]
    await until(lambda: not any(map(is_running, pids)), seconds=3)
    assert read_running_stack(path) is None

    with DataFolder(path) as folder:
        async with Supervisor(folder.path) as successor:
            postgres, temporal = EmbeddedPostgres(path), EmbeddedTemporal(path, port=0, ui_port=0)
            await asyncio.gather(postgres.start(successor), temporal.start(successor))
            assert temporal.address == stack["temporal_address"]
            connection = await asyncpg.connect(postgres.url.replace("+asyncpg", ""))
            assert await connection.fetchval("SELECT count(*) FROM visit") == 1
            await connection.close()


@pytest.mark.parametrize(("cwd", "kept"), [("cluster", True), (".", False)])
def test_pid_file_is_removed_only_if_the_pid_belongs_to_another_program(
    tmp_path: Path, cwd: str, kept: bool
) -> None:
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    with subprocess.Popen(["sleep", "600"], cwd=tmp_path / cwd) as process:
        (cluster / "postmaster.pid").write_text(f"{process.pid}\n{cluster}\n")
        remove_stale_pid_files(cluster, tmp_path)
        process.kill()
    assert (cluster / "postmaster.pid").exists() is kept


@pytest.fixture
def shared_temp() -> Iterator[Path]:
    """Outside pytest's folders, which other users cannot pass."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="every other test here already runs as an ordinary user")
async def test_runs_as_an_ordinary_user(shared_temp: Path) -> None:
    become, options = ways_to_be_ordinary(shared_temp)
    command = [*become, *STACK_PROCESS, str(shared_temp / "data"), "--once"]
    stack = await asyncio.create_subprocess_exec(*command, cwd=PROJECT, stderr=subprocess.PIPE, **options)
    _, complaints = await stack.communicate()
    assert stack.returncode == 0, complaints.decode()
    assert (shared_temp / "data" / "postgres").stat().st_uid == shared_temp.stat().st_uid


def ways_to_be_ordinary(folder: Path) -> tuple[list[str], dict[str, Any]]:
    """A prefix for the command and options for its process; `folder` is handed over."""
    if all(parent.stat().st_mode & stat.S_IXOTH for parent in Path(sys.executable).resolve().parents):
        nobody = pwd.getpwnam("nobody").pw_uid
        os.chown(folder, nobody, -1)
        return [], {"user": nobody, "extra_groups": []}
    # The interpreter lies in /root. In its own user namespace a process is not root, but still reaches it.
    become = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if not shutil.which("unshare") or subprocess.run([*become, "true"], check=False).returncode != 0:
        pytest.skip("only root can reach this interpreter, and user namespaces are not to be had here")
    return become, {}
