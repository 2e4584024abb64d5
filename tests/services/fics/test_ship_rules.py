"""The file of ship rules: what is wrong with it is told with its place."""

from pathlib import Path

import pytest

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.ship_rule import ShipRules
from fascicle.services.fics.ship_rules import load_ship_rules


@pytest.mark.parametrize("content", [None, "", "rules: []\n", "# nothing yet\n"])
def test_f6_no_file_and_no_rules_are_no_rules(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "rules.yaml"
    if content is not None:
        file.write_text(content)
    assert load_ship_rules(file) == ShipRules()


def test_f6_a_rule_is_read(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules:\n  - name: Any Sherlock\n    fandoms: [Sherlock]\n    multiship: first\n")
    (rule,) = load_ship_rules(file).rules
    assert (rule.name, rule.fandoms, rule.multiship) == ("Any Sherlock", ["Sherlock"], "first")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("rules:\n  - name: [\n", "rules.yaml is not YAML, line 3:"),
        ("- name: x\n", "should be entries such as"),
        ("rules:\n  - fandoms: [x]\n", "rules.1.name: is missing"),
        ("rules:\n  - name: ' '\n", "rules.1.name: should not be empty"),
        ("rules:\n  - {name: x, fandom: y}\n", "rules.1.fandom: is no known entry"),
        (
            "rules:\n  - {name: x, multiship: some}\n",
            "rules.1.multiship: Input should be 'any', 'first' or 'only'",
        ),
        ("rules:\n  - {name: x, most_ships: 0}\n", "rules.1.most_ships:"),
        ("rules:\n  - {name: x, qualifiers: {past: maybe}}\n", "rules.1.qualifiers.past:"),
        ("rules:\n  - {name: x, pairing: {members: [{name: y}]}}\n", "rules.1.pairing.members:"),
        ("!!python/object/apply:os.system ['true']\n", "is not YAML"),
        ("rules: \xff\n", "is not YAML"),
        ("#" * 200_001, "larger than 200,000 bytes"),
    ],
)
def test_f6_a_wrong_file_is_told_with_its_place(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(UsageError) as raised:
        load_ship_rules(file)
    assert str(file) in raised.value.message
    assert words in raised.value.message


def test_f6_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_ship_rules(tmp_path)
