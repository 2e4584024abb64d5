"""Ship rules (F6): tags as people write them, and the shipped rules on the traps among them."""

from pathlib import Path
from typing import Any

import pytest

from fascicle.domain.fics.fic import Fic, Verdict
from fascicle.domain.fics.ship_rule import ShipRules, is_fandom, judge
from fascicle.domain.fics.ship_tag import parse_tag
from fascicle.services.fics.ship_rules import load_ship_rules

SHIPPED = load_ship_rules(Path(__file__).parents[3] / "ship_rules.yaml")
FANDOM = "Supernatural (TV 2005)"
RIGHT = "Castiel/Dean Winchester"
LISA = "Lisa Braeden/Dean Winchester"


def fic(relationships: list[str], fandoms: list[str] | None = None, tags: list[str] | None = None) -> Fic:
    return Fic(
        site="ao3",
        id="1",
        url="https://archiveofourown.org/works/1",
        title="A work",
        fandoms=[FANDOM] if fandoms is None else fandoms,
        relationships=relationships,
        tags=tags or [],
    )


def shipped(**changes: Any) -> ShipRules:
    """The shipped rule, with other entries."""
    content = SHIPPED.rules[0].model_dump() | changes
    return ShipRules.model_validate({"rules": [content]})


@pytest.mark.parametrize(
    "tag",
    [
        "Castiel/Dean Winchester",
        "Dean Winchester/Castiel",
        "dean winchester / CASTIEL",
        "Dean Winchester/Castiel (Supernatural)",
        "Castiel (Supernatural)/Dean Winchester",
        "Dean Winchester (Supernatural)/Castiel (Supernatural)",
        "Dean W./Castiel",
        "Dean/Cas",
        "Cas Novak/Dean Winchester",
        "Emmanuel Allen/Dean Winchester",
        "Castiel | Emmanuel Allen/Dean Winchester",
        "Destiel | Dean Winchester/Castiel",
        "Destiel",
        "DESTIEL - Freeform",
        "deancas",
        "Dean Winchester/Castiel - Freeform",
        "Dean Winchester／Castiel",
        "Dean Winchester\u2044Castiel",
        "Dean\u00a0Winchester/\u200bCastiel",
        "Dean Winchester/Castiel (pre-relationship)",
        "Pre-Dean Winchester/Castiel",
        "Pre-Relationship Dean Winchester/Castiel",
        "Eventual Castiel/Dean Winchester",
        "Established Relationship Castiel/Dean Winchester",
        "Castiel/Dean Winchester & Sam Winchester",
    ],
)
def test_f6_the_pairing_in_its_many_spellings(tag: str) -> None:
    assert judge(fic([tag]), SHIPPED) == Verdict(rule="Dean/Castiel")


FRIENDS = "The pairing Dean/Castiel is only tagged as a friendship (&)."
NOT_THE_SAME = "is close to Dean/Castiel, but not the same."


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("Dean Winchester & Castiel", FRIENDS),
        ("Castiel ＆ Dean Winchester", FRIENDS),
        ("Castiel & Dean Winchester & Sam Winchester", FRIENDS),
        ("Past Castiel/Dean Winchester", "Dean/Castiel is tagged as past."),
        ("Castiel/Dean Winchester (past)", "Dean/Castiel is tagged as past."),
        ("Castiel (past)/Dean Winchester", "Dean/Castiel is tagged as past."),
        ("Castiel/Dean Winchester - Past", "Dean/Castiel is tagged as past."),
        ("Previous Destiel", "Dean/Castiel is tagged as past."),
        ("Minor Dean/Cas", "Dean/Castiel is tagged as minor."),
        ("Destiel (minor)", "Dean/Castiel is tagged as minor."),
        ("Castiel/Dean Winchester (background, minor)", "Dean/Castiel is tagged as background and minor."),
        ("BACKGROUND Castiel/Dean Winchester", "Dean/Castiel is tagged as background."),
        ("implied/referenced Castiel/Dean Winchester", "Dean/Castiel is tagged as implied and referenced."),
        ("Mentions of past Castiel/Dean Winchester", "Dean/Castiel is tagged as mentioned and past."),
        ("One-sided Castiel/Dean Winchester", "Dean/Castiel is tagged as one-sided."),
        ("One Sided Dean/Castiel", "Dean/Castiel is tagged as one-sided."),
        ("onesided dean/castiel", "Dean/Castiel is tagged as one-sided."),
        ("Unrequited Castiel/Dean Winchester", "Dean/Castiel is tagged as unrequited."),
        ("Former Castiel/Dean Winchester", "Dean/Castiel is tagged as former."),
        ("Ex-Castiel/Dean Winchester", "Dean/Castiel is tagged as ex."),
        ("Hinted Castiel/Dean Winchester", "Dean/Castiel is tagged as hinted."),
        ("Background relationship: Castiel/Dean Winchester", "Dean/Castiel is tagged as background."),
        ("Past and Eventual Castiel/Dean Winchester", "Dean/Castiel is tagged as past."),
        (
            "Castiel/Dean Winchester/Sam Winchester",
            "Dean/Castiel is only tagged together with others (Castiel/Dean Winchester/Sam Winchester).",
        ),
        ("Dean Winchester/Castiel's Vessel", f"Dean Winchester/Castiel's Vessel {NOT_THE_SAME}"),
        ("Dean Winchester/Castiel’s Vessel", f"Dean Winchester/Castiel’s Vessel {NOT_THE_SAME}"),
        ("Alternate Dean Winchester/Castiel", f"Alternate Dean Winchester/Castiel {NOT_THE_SAME}"),
        (
            "Castiel (Not Supernatural)/Dean Winchester",
            f"Castiel (Not Supernatural)/Dean Winchester {NOT_THE_SAME}",
        ),
        (
            "Dean Winchester/Dean Winchester",
            "Dean/Castiel is not among its pairings: Dean Winchester/Dean Winchester.",
        ),
        ("Dean Winchester", "None of its relationship tags is Dean/Castiel: Dean Winchester."),
        ("Destiel's Angels", "None of its relationship tags is Dean/Castiel: Destiel's Angels."),
        ("Sam Winchester/Reader", "Dean/Castiel is not among its pairings: Sam Winchester/Reader."),
        ("/", "None of its relationship tags is Dean/Castiel: /."),
    ],
)
def test_f6_what_is_not_the_pairing_and_why(tag: str, reason: str) -> None:
    assert judge(fic([tag]), SHIPPED) == Verdict(ok=False, reasons=[reason], rule="Dean/Castiel")


@pytest.mark.parametrize(
    "relationships",
    [
        [RIGHT, "Past Dean Winchester/Lisa Braeden"],
        ["Past Dean Winchester/Lisa Braeden", RIGHT],
        ["Past Castiel/Dean Winchester", RIGHT],
        ["Castiel & Dean Winchester", RIGHT],
        ["Castiel/Dean Winchester/Sam Winchester", "Destiel"],
    ],
)
def test_f6_one_right_tag_is_enough(relationships: list[str]) -> None:
    assert judge(fic(relationships), SHIPPED).ok


@pytest.mark.parametrize(
    ("tags", "reasons"),
    [
        ([], ["It has no relationship tags, so Dean/Castiel is not among them."]),
        (["angels"], ["It has no relationship tags, so Dean/Castiel is not among them."]),
        (["angels", "destiel"], []),
        (["past destiel"], ["Dean/Castiel is tagged as past."]),
    ],
)
def test_f6_without_relationship_tags_the_nickname_among_the_tags_counts(
    tags: list[str], reasons: list[str]
) -> None:
    assert judge(fic([], tags=tags), SHIPPED).reasons == reasons
    assert not judge(fic(["Sam Winchester/Reader"], tags=["destiel"]), SHIPPED).ok


@pytest.mark.parametrize(
    ("tag", "wanted", "same"),
    [
        ("Supernatural (TV 2005)", "Supernatural", True),
        ("SUPERNATURAL", "Supernatural", True),
        ("Supernatural - Fandom", "Supernatural", True),
        ("Supernatural - All Media Types", "Supernatural", True),
        ("Supernatural & Related Fandoms", "Supernatural", True),
        ("Supernatural (TV 2005) - Fandom", "Supernatural (TV 2005)", True),
        ("Supernatural", "Supernatural - Fandom", True),
        ("Sobrenatural | Supernatural (TV 2005)", "Supernatural", True),
        ("Supernatural (TV 2005) RPF", "Supernatural", False),
        ("Supernatural (TV 2005) RPF", "Supernatural (TV 2005)", False),
        ("Supernatural RPF", "Supernatural", False),
        ("Supernatural", "Supernatural (TV 2005)", False),
        ("Supernatural (Comics)", "Supernatural (TV 2005)", False),
        ("Supernatural Academy", "Supernatural", False),
    ],
)
def test_f6_forms_of_a_fandom(tag: str, wanted: str, same: bool) -> None:
    assert is_fandom(tag, [wanted]) is same


WANTED = "the rule Dean/Castiel is for Supernatural (TV 2005)."


@pytest.mark.parametrize(
    ("fandoms", "reason"),
    [
        ([], f"It has no fandom tags; {WANTED}"),
        (["Supernatural (TV 2005) RPF"], f"Its fandom is Supernatural (TV 2005) RPF; {WANTED}"),
        (["A", "B", "C", "D"], f"Its fandoms are A, B, C and one more; {WANTED}"),
    ],
)
def test_f6_the_wrong_fandom(fandoms: list[str], reason: str) -> None:
    assert judge(fic([RIGHT], fandoms), SHIPPED).reasons == [reason]


FIVE = ["Sam Winchester/Jessica Moore", LISA, RIGHT, "A/B", "C/D", "Castiel & Sam Winchester", "Minor E/F"]


@pytest.mark.parametrize(
    ("changes", "relationships", "reasons"),
    [
        ({"multiship": "any"}, FIVE, []),
        (
            {"multiship": "first"},
            FIVE,
            ["Dean/Castiel is the third of five pairings; the rule wants it first."],
        ),
        ({"multiship": "only"}, FIVE, ["Dean/Castiel is one of five pairings; the rule wants no other."]),
        ({"multiship": "first"}, ["Past " + LISA, "Castiel & Sam Winchester", RIGHT, "A/B"], []),
        ({"multiship": "only"}, ["Past " + LISA, RIGHT, "Destiel"], []),
        (
            {"multiship": "first"},
            [f"A/{n}" for n in range(20)] + [RIGHT],
            ["Dean/Castiel is the 21st of 21 pairings; the rule wants it first."],
        ),
        ({"most_ships": 5}, FIVE, []),
        ({"most_ships": 4}, FIVE, ["It has five pairings; the rule accepts four at most."]),
        (
            {"most_ships": 1, "multiship": "first"},
            [LISA, RIGHT],
            [
                "Dean/Castiel is the second of two pairings; the rule wants it first.",
                "It has two pairings; the rule accepts one at most.",
            ],
        ),
        ({"polyamory": "accept"}, ["Castiel/Dean Winchester/Sam Winchester"], []),
        (
            {"polyamory": "accept"},
            ["Past Castiel/Dean Winchester/Sam Winchester"],
            ["Dean/Castiel is tagged as past."],
        ),
        ({"qualifiers": {"Previous": "accept"}}, ["Past Castiel/Dean Winchester"], []),
        ({"qualifiers": {"one sided": "accept"}}, ["One-Sided Castiel/Dean Winchester"], []),
        ({"qualifiers": {"alternate": "accept"}}, ["Alternate Castiel/Dean Winchester"], []),
        (
            {"qualifiers": {"fake": "reject"}},
            ["Fake Castiel/Dean Winchester"],
            ["Dean/Castiel is tagged as fake."],
        ),
        ({"qualifiers": {"low key": "reject"}}, ["Low-Key Destiel"], ["Dean/Castiel is tagged as low key."]),
        (
            {"qualifiers": {"eventual": "reject"}},
            ["Eventual Destiel"],
            ["Dean/Castiel is tagged as eventual."],
        ),
        ({"qualifiers": {}}, ["Pre-Destiel"], []),
        ({"qualifiers": {}}, ["Ex Destiel"], ["Dean/Castiel is tagged as ex."]),
        ({"fandoms": []}, [RIGHT], []),
        ({"pairing": None}, [], []),
    ],
)
def test_f6_each_entry_of_a_rule_changes_the_verdict(
    changes: dict[str, Any], relationships: list[str], reasons: list[str]
) -> None:
    verdict = judge(fic(relationships), shipped(**changes))
    assert (verdict.ok, verdict.reasons) == (not reasons, reasons)


@pytest.mark.parametrize(
    ("crossovers", "fandoms", "reasons"),
    [
        ("accept", [FANDOM, "Doctor Who (2005)"], []),
        ("reject", [FANDOM, "Supernatural - Fandom"], []),
        (
            "reject",
            [FANDOM, "Doctor Who (2005)"],
            ["It is a crossover with Doctor Who (2005); the rule accepts none."],
        ),
    ],
)
def test_f6_crossovers(crossovers: str, fandoms: list[str], reasons: list[str]) -> None:
    assert judge(fic([RIGHT], fandoms), shipped(crossovers=crossovers)).reasons == reasons


def test_f6_without_rules_everything_belongs_here() -> None:
    assert judge(fic([], []), ShipRules()) == Verdict()


def test_f6_any_satisfied_rule_is_enough_and_the_closest_one_gives_the_reasons() -> None:
    pairing = {"members": [{"name": "Sam Winchester"}, {"name": "Eileen Leahy"}]}
    other = {"name": "Sam/Eileen", "fandoms": ["Supernatural"], "pairing": pairing}
    elsewhere = {"name": "Anything Sherlock", "fandoms": ["Sherlock"]}
    rules = ShipRules.model_validate({"rules": [elsewhere, other, SHIPPED.rules[0].model_dump()]})
    assert judge(fic(["Eileen Leahy/Sam Winchester"]), rules).rule == "Sam/Eileen"
    assert judge(fic([], ["Sherlock (TV)"]), rules).rule == "Anything Sherlock"
    refused = judge(fic(["Past Destiel"]), rules)
    assert (refused.rule, refused.reasons) == ("Dean/Castiel", ["Dean/Castiel is tagged as past."])


def test_f6_a_triad_is_a_pairing_of_three() -> None:
    members = [{"name": "A"}, {"name": "B"}, {"name": "C"}]
    rules = ShipRules.model_validate({"rules": [{"name": "A/B/C", "pairing": {"members": members}}]})
    assert judge(fic(["C/A/B"]), rules).ok
    assert not judge(fic(["A/B"]), rules).ok
    assert not judge(fic(["A/B/C/D"]), rules).ok


@pytest.mark.parametrize("text", ["", "/", "&&", "|", "(", "()" * 400, "past " * 200, "- " * 400, "[" * 900])
def test_any_text_is_a_tag(text: str) -> None:
    assert not judge(fic([text]), SHIPPED).ok
    assert parse_tag(text).groups
