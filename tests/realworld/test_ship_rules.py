"""Ship rules on pages recorded from the archive."""

from pathlib import Path
from typing import Any

import pytest

from fascicle.domain.fics.fic import Fic, FicKind, FicRef, Verdict
from fascicle.domain.fics.ship_rule import ShipRules, judge
from fascicle.services.fics.ship_rules import load_ship_rules
from fascicle.sites.ao3 import read_page

SHIPPED = load_ship_rules(Path(__file__).parents[2] / "ship_rules.yaml")


def work(folder: Path, name: str) -> Fic:
    number = name.rpartition("_")[2]
    ref = FicRef(site="ao3", kind=FicKind.WORK, id=number, url=f"https://archiveofourown.org/works/{number}")
    found = read_page((folder / "fic" / f"{name}.html").read_bytes(), ref)
    assert isinstance(found, Fic)
    return found


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({}, ["Harry/Josie is tagged as past."]),
        ({"qualifiers": {"past": "accept"}}, []),
    ],
)
def test_f6_a_recorded_pairing_that_is_past(
    fixtures_folder: Path, changes: dict[str, Any], reasons: list[str]
) -> None:
    members = [{"name": "Harry Truman", "also": ["Harry S. Truman"]}, {"name": "Josie Packard"}]
    rule = {"name": "Harry/Josie", "fandoms": ["Twin Peaks"], "pairing": {"members": members}}
    verdict = judge(
        work(fixtures_folder, "ao3_work_past_qualifier_923647"),
        ShipRules.model_validate({"rules": [rule | changes]}),
    )
    assert verdict == Verdict(ok=not reasons, reasons=reasons, rule="Harry/Josie")


def test_f6_the_shipped_rule_refuses_other_fandoms(fixtures_folder: Path) -> None:
    verdict = judge(work(fixtures_folder, "ao3_work_multichapter_17793689"), SHIPPED)
    assert not verdict.ok
    assert verdict.reasons[0].endswith("the rule Dean/Castiel is for Supernatural (TV 2005).")
