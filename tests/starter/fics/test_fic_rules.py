"""`fascicle fic rules test`: tags and saved pages by the rules, without anything running (F6)."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simulator.royalroad import FICTIONS, fiction_page
from starter.fics.fic_rules import app

SHIPPED = str(Path(__file__).parents[3] / "ship_rules.yaml")
TAGS = ["--fandom", "Supernatural (TV 2005)", "--relationship"]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["test", *arguments])


@pytest.fixture
def page(tmp_path: Path) -> str:
    file = tmp_path / "page.html"
    file.write_text(fiction_page(FICTIONS[71001]))
    return str(file)


@pytest.mark.parametrize(
    ("relationship", "code", "answer"),
    [
        (
            "Castiel/Dean Winchester",
            0,
            {"ok": True, "verdict": "done", "rule": "Dean/Castiel", "reasons": []},
        ),
        (
            "Past Destiel",
            1,
            {
                "ok": False,
                "verdict": "nOTP",
                "rule": "Dean/Castiel",
                "reasons": ["Dean/Castiel is tagged as past."],
            },
        ),
    ],
)
def test_f6_tags_get_a_verdict(relationship: str, code: int, answer: dict[str, Any]) -> None:
    told = run(*TAGS, relationship, "--rules", SHIPPED, "--json")
    assert (told.exit_code, json.loads(told.stdout)) == (code, answer)


def test_f6_people_get_sentences() -> None:
    refused = run(*TAGS, "Past [red]Destiel", "--relationship", "[b]A/B", "--rules", SHIPPED)
    assert refused.exit_code == 1
    assert "Dean/Castiel is not among its pairings: [b]A/B." in refused.stdout
    assert "by the rule Dean/Castiel" in run(*TAGS, "Destiel", "--rules", SHIPPED).stdout


def test_f6_a_saved_page_gets_a_verdict(page: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - {name: Originals, fandoms: [Original]}\n")
    told = run(page, "--url", "https://royalroad.com/fiction/71001/x", "--rules", str(rules), "--json")
    assert (told.exit_code, json.loads(told.stdout)["rule"]) == (0, "Originals")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Name a page, or tags"),
        (["{page}"], "--url"),
        (["{page}", "--url", "https://royalroad.com/fiction/1", *TAGS, "x"], "one of both"),
        (["{page}", "--url", "https://evil.example/1"], "evil.example"),
        (["{page}", "--url", "https://archiveofourown.org/series/1"], "single works"),
        (["{page}x", "--url", "https://royalroad.com/fiction/1"], "cannot be read"),
        (["{page}", "--url", "https://archiveofourown.org/works/1"], "page.html: "),
        ([*TAGS, "x", "--rules", "{page}x"], "There is no file"),
        ([*TAGS, "x", "--rules", "{page}"], "is not YAML"),
    ],
)
def test_f6_wrong_usage_says_what_to_do(page: str, arguments: list[str], words: str) -> None:
    given = [argument.format(page=page) for argument in arguments]
    told = run(*given) if "--rules" in given else run(*given, "--rules", SHIPPED)
    assert told.exit_code == 2
    assert words in " ".join(told.output.split())
