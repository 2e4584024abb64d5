"""`fascicle db backup`, `restore` and `restored`, as a person types them."""

import stat
from pathlib import Path

import pytest

from fascicle.embedded import DataFolder
from starter.context import demo_folder
from tests.starter.conftest import Desk, Running


@pytest.fixture(scope="module")
def backup(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the running stack, which goes on."""
    file = tmp_path_factory.mktemp("backups") / "fascicle.dump"
    told = running.fascicle("db", "backup", str(file))
    assert told.code == 0, told
    assert "schema 0" in told.out
    assert " users" in told.out
    return file


def test_x7_a_backup_is_for_its_owner_and_overwrites_nothing(running: Running, backup: Path) -> None:
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    refused = running.fascicle("db", "backup", str(backup), "--json")
    assert (refused.code, "file_exists" in refused.out, "--force" in refused.err) == (2, True, True)
    assert running.json("db", "backup", str(backup), "--force")["bytes"] == backup.stat().st_size
    assert [file.name for file in backup.parent.iterdir()] == [backup.name], "no drafts are left"


@pytest.mark.parametrize("command", [["restore", "--replace"], ["restored"]])
def test_x7_nothing_is_restored_beneath_a_running_stack(
    running: Running, backup: Path, command: list[str]
) -> None:
    name, *options = command
    file = [str(backup)] if name == "restore" else []
    refused = running.fascicle("db", name, *file, *options)
    assert refused.code == 2
    assert "works on" in refused.said()
    assert "stop it first" in refused.said()


def test_x7_nothing_is_restored_beside_a_running_demo(desk: Desk) -> None:
    with DataFolder(demo_folder(desk.data)) as demo:
        demo.publish({"pid": 1})
        refused = desk.fascicle("db", "restored")
        assert refused.code == 2
        assert f"FASCICLE_DATA_DIR={demo.path}" in "".join(refused.err.split())
    assert not (desk.data / "postgres").exists()


def test_x1_a_backup_is_restored_where_nothing_runs(desk: Desk, running: Running, backup: Path) -> None:
    assert "There is no database" in desk.fascicle("db", "backup", "none").said()
    got = desk.json("db", "restore", str(backup), "--silent")
    assert got["rows"]["users"] >= 2
    assert got["rows"]["sources"] >= got["doubts"]["sources_read_anew"] >= 3

    told = desk.fascicle("db", "restored").said()
    assert "for the second time" in told
    assert told.endswith("next: fascicle up")


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"-- SQL of somebody", "is no backup"),
        (b"PGDMP\x01\x10\x00 and then nothing", "cannot be read"),
    ],
)
def test_x7_what_is_no_backup_is_refused_before_anything_starts(
    desk: Desk, contents: bytes | None, said: str
) -> None:
    file = desk.folder / "file"
    if contents is not None:
        file.write_bytes(contents)
    refused = desk.fascicle("db", "restore", str(file), "--replace")
    assert (refused.code, said in refused.said()) == (2, True), refused
    assert not (desk.data / "postgres").exists()


def test_x7_programs_that_are_missing_are_named(desk: Desk, backup: Path) -> None:
    url = "postgresql://nobody:secret@127.0.0.1:1/none"
    refused = desk.fascicle("db", "restore", str(backup), DATABASE_URL=url, PATH=str(desk.folder))
    assert refused.code == 1
    assert "no pg_restore on the PATH" in refused.said()
