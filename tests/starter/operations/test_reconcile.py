"""`fascicle reconcile`: whatever Temporal forgot, from the database (X1)."""

from tests.starter.commandline import wait_until
from tests.starter.conftest import Running
from tests.starter.test_temporal_cli import temporal


def test_x1_what_temporal_forgot_is_started_again(running: Running) -> None:
    source = running.add("Forgotten Tides")["id"]
    temporal(running, f"temporal workflow terminate -w source-{source} --reason drill")
    temporal(running, "temporal schedule delete -s digests")
    wait_until(lambda: running.json("reconcile", "--dry-run")["missing"]["sources"] >= 1, what="a gap")

    told = running.fascicle("reconcile")
    assert (told.code, told.out.split()[:3]) == (0, ["kind", "started", "sources"])

    assert running.json("source", "show", source)["workflow"]["title"] == "Forgotten Tides"
    assert "digests" in {row["name"] for row in running.json("schedule", "list")}
    wait_until(lambda: running.json("reconcile")["started"]["sources"] == 0, what="nothing more to start")
