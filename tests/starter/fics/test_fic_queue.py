"""`fascicle fic …` as a person uses it, on the stack that runs (F1, F4, F6, F8)."""

from pathlib import Path

import orjson

from simulator.ao3.records import WorkSpec
from tests.starter.conftest import Running
from tests.starter.test_temporal_cli import COMMANDS, temporal

ARCHIVE = "https://archiveofourown.org/works"
FITS = {"fandoms": ("Supernatural",), "relationships": ("Castiel/Dean Winchester",)}


def test_f8_a_fic_from_the_address_to_the_last_word(running: Running, tmp_path: Path) -> None:
    fits = running.simulator.ao3.add_work(WorkSpec(title="Salt [bold]circle[/]", **FITS))
    other = running.simulator.ao3.add_work(WorkSpec(title="Elsewhere", fandoms=("Chess RPF",)))
    added = running.json("fic", "add", f"{ARCHIVE}/{fits.id}/chapters/9", "--user", "ann", "--wait", "20")
    assert (added["state"], added["title"], added["url"]) == ("done", fits.title, f"{ARCHIVE}/{fits.id}")
    assert fits.title in running.fascicle("fic", "show", f"{ARCHIVE}/{fits.id}").said()
    again = running.json("fic", "update", f"{ARCHIVE}/{fits.id}", "--wait", "20")
    assert (again["state"], again["round"], again["subscribers"]) == ("done", 2, 1)
    refused = running.fascicle("fic", "add", f"{ARCHIVE}/{other.id}", "--user", "ann", "--wait", "20").said()
    assert "Chess RPF" in refused or "Supernatural" in refused
    running.fascicle("fic", "override", f"{ARCHIVE}/{other.id}", "--moderator", "mod").said()
    listed = running.json("fic", "list", "--state", "done", "--user", "ann")
    assert {view["title"] for view in listed} == {fits.title, "Elsewhere"}
    assert running.json("fic", "reset") == {"reset": 0}
    assert running.json("fic", "reset", f"{ARCHIVE}/{fits.id}") == {"reset": 0}  # done is not stuck
    assert running.json("fic", "clear", f"{ARCHIVE}/{other.id}")["cleared"]
    assert running.fascicle("fic", "show", f"{ARCHIVE}/{other.id}").code == 2
    page = tmp_path / "page.html"
    page.write_text(" ")
    hand_in = ("fic", "add", f"{ARCHIVE}/{other.id}", "--user", "ann", "--page", str(page))
    empty = running.fascicle(*hand_in, "--json")
    assert (empty.code, "is empty" in orjson.loads(empty.out)["reason"]) == (2, True)
    page.write_text("<html>nothing</html>")
    broken = running.json(*hand_in, "--wait", "20")
    assert broken["error_code"] == "parser_broken"


def test_f5_the_communitys_channel_is_shown_without_its_secret(running: Running) -> None:
    running.fascicle("fic", "channel", "json://127.0.0.1:9/secret").said()
    assert running.json("fic", "channel") == {"channel": "json://…"}
    assert running.fascicle("fic", "channel", "json://127.0.0.1:9/other", "--off").code == 2
    assert running.json("fic", "channel", "--off") == {"channel": None}


def test_f1_the_documents_commands_for_fics_work(running: Running) -> None:
    fic = running.simulator.ao3.add_work(WorkSpec(title="By Temporal's command", **FITS))
    commands = [line for line in COMMANDS if "fic-ao3-work-ID" in line]
    assert len(commands) == 3
    for command in commands:
        temporal(running, command.replace("ID", str(fic.id)))
    assert running.json("fic", "show", f"{ARCHIVE}/{fic.id}")["requested_by"] == "mara"
