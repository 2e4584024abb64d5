"""Which works belong here (F6): rules about fandoms and pairings, as data, and a work's verdict by them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from fascicle.domain.fics.fic import Fic, Verdict
from fascicle.domain.fics.ship_reasons import Findings, reasons_of
from fascicle.domain.fics.ship_tag import ShipTag, folded, parse_tag, qualifier_name


class Policy(StrEnum):
    ACCEPT = "accept"
    REJECT = "reject"


class Multiship(StrEnum):
    """The required place of the pairing among a work's pairings."""

    ANY = "any"
    FIRST = "first"
    ONLY = "only"


# Qualifiers of works that are about the pairing, or get there, rather than only mention it.
_ACCEPTED_UNLESS_TOLD = frozenset({"pre", "eventual", "established", "endgame", "main"})
_FANDOM_ENDINGS = re.compile(r"\s+(?:- (?:fandom|all media types)|& related fandoms)$")
_BRACKETS = re.compile(r"\s*\([^()]*\)$")


def _not_blank(text: str) -> str:
    if not folded(text):
        raise ValueError("should not be empty")
    return text


Name = Annotated[str, AfterValidator(_not_blank), Field(max_length=300)]
Names = Annotated[list[Name], Field(max_length=200)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Member(_Entry):
    """One of a pairing. `also`: other names the same person is tagged by."""

    name: Name
    also: Names = []

    @property
    def names(self) -> frozenset[str]:
        return frozenset(map(folded, (self.name, *self.also)))


class Pairing(_Entry):
    members: Annotated[list[Member], Field(min_length=2, max_length=10)]
    tags: Names = []
    """Words that mean the pairing by themselves."""


class ShipRule(_Entry):
    name: Name
    fandoms: Names = []
    pairing: Pairing | None = None
    qualifiers: Annotated[dict[Name, Policy], Field(max_length=100)] = {}
    polyamory: Policy = Policy.REJECT
    multiship: Multiship = Multiship.ANY
    most_ships: Annotated[int, Field(ge=1)] | None = None
    crossovers: Policy = Policy.ACCEPT


class ShipRules(_Entry):
    rules: Annotated[list[ShipRule], Field(max_length=200)] = []


class _Likeness(StrEnum):
    """How a relationship tag compares with a rule's pairing."""

    SAME = "same"
    WITH_OTHERS = "with others"
    FRIENDSHIP = "friendship"
    SIMILAR = "similar"
    OTHER = "other"


@dataclass(frozen=True)
class _Tag:
    """A relationship tag of a work, and a rule's view of it."""

    text: str
    likeness: _Likeness
    refused: frozenset[str]
    """Those of its qualifiers that the rule rejects."""
    counts: bool
    """Whether it is one of the pairings the work is about."""


def judge(fic: Fic, rules: ShipRules) -> Verdict:
    """A work belongs here if any rule is satisfied or there are none. Else the closest rule says why not."""
    if not rules.rules:
        return Verdict()
    found = [_findings(fic, rule) for rule in rules.rules]
    for rule, findings in zip(rules.rules, found, strict=True):
        if findings.satisfied:
            return Verdict(rule=rule.name)
    rule, closest = max(zip(rules.rules, found, strict=True), key=lambda pair: pair[1].closeness)
    return Verdict(ok=False, reasons=reasons_of(closest), rule=rule.name)


def is_fandom(tag: str, wanted: Sequence[str]) -> bool:
    """`Supernatural` is `Supernatural (TV 2005)` and `Supernatural - Fandom`; neither is `… RPF`."""
    forms = {form for alias in folded(tag).split("|") for form in _fandom_forms(alias.strip())}
    return any(_FANDOM_ENDINGS.sub("", folded(name)) in forms for name in wanted)


def _fandom_forms(name: str) -> tuple[str, str]:
    without = _FANDOM_ENDINGS.sub("", name)
    return without, _BRACKETS.sub("", without)


def _findings(fic: Fic, rule: ShipRule) -> Findings:
    others = [fandom for fandom in fic.fandoms if rule.fandoms and not is_fandom(fandom, rule.fandoms)]
    tags = [_seen(text, rule) for text in _candidates(fic, rule)]
    pairings = [tag for tag in tags if tag.counts]
    accepted = [tag for tag in pairings if tag.likeness is _Likeness.SAME]
    place = pairings.index(accepted[0]) + 1 if accepted else None
    # Two tags for the one pairing are one pairing.
    total = len(pairings) - max(0, len(accepted) - 1)
    return Findings(
        label=rule.name,
        fandoms_wanted=rule.fandoms,
        fandoms=fic.fandoms,
        right_fandom=not rule.fandoms or len(others) < len(fic.fandoms),
        crossed_with=others if rule.crossovers is Policy.REJECT else [],
        right_pairing=rule.pairing is None or bool(accepted),
        refused=sorted({word for tag in tags if tag.likeness is _Likeness.SAME for word in tag.refused}),
        with_others=_texts(tags, _Likeness.WITH_OTHERS),
        friendships=_texts(tags, _Likeness.FRIENDSHIP),
        similar=_texts(tags, _Likeness.SIMILAR),
        pairings=[tag.text for tag in pairings],
        relationships=fic.relationships,
        place=place,
        total=total,
        misplaced=_is_misplaced(rule, place, total),
        wants_only=rule.multiship is Multiship.ONLY,
        most_ships=rule.most_ships,
    )


def _texts(tags: Sequence[_Tag], likeness: _Likeness) -> list[str]:
    return [tag.text for tag in tags if tag.likeness is likeness]


def _is_misplaced(rule: ShipRule, place: int | None, total: int) -> bool:
    if place is None or rule.multiship is Multiship.ANY:
        return False
    return total > 1 if rule.multiship is Multiship.ONLY else place > 1


def _candidates(fic: Fic, rule: ShipRule) -> list[str]:
    """On a site without relationship tags, only the pairing's nickname among the other tags can match."""
    if fic.relationships or rule.pairing is None:
        return fic.relationships
    return [text for text in fic.tags if _is_nickname(parse_tag(text, rule.qualifiers), rule)]


def _seen(text: str, rule: ShipRule) -> _Tag:
    tag = parse_tag(text, rule.qualifiers)
    refused = frozenset(word for word in tag.qualifiers if _policy(word, rule) is Policy.REJECT)
    counts = not refused and (tag.is_pairing or _is_nickname(tag, rule))
    return _Tag(text, _likeness(tag, rule), refused, counts)


def _likeness(tag: ShipTag, rule: ShipRule) -> _Likeness:
    if rule.pairing is None:
        return _Likeness.OTHER
    if _is_nickname(tag, rule):
        return _Likeness.SAME
    group = next((group for group in tag.groups if _has_all(group, rule)), None)
    if group is not None:
        has_more = len(group) > len(rule.pairing.members)
        return _Likeness.WITH_OTHERS if has_more and rule.polyamory is Policy.REJECT else _Likeness.SAME
    if _has_all(tag.people, rule):
        return _Likeness.FRIENDSHIP
    # The tag contains the full names, but it is not the pairing.
    is_similar = all(folded(member.name) in tag.text for member in rule.pairing.members)
    return _Likeness.SIMILAR if is_similar else _Likeness.OTHER


def _is_nickname(tag: ShipTag, rule: ShipRule) -> bool:
    return rule.pairing is not None and tag.text in map(folded, rule.pairing.tags)


def _has_all(people: Sequence[frozenset[str]], rule: ShipRule) -> bool:
    """Is each member of the pairing a different one of these people?"""
    if rule.pairing is None:
        return False
    left = [_without_fandom(person, rule) for person in people]
    for member in rule.pairing.members:
        match = next((n for n, names in enumerate(left) if names & member.names), None)
        if match is None:
            return False
        del left[match]
    return True


def _without_fandom(names: frozenset[str], rule: ShipRule) -> frozenset[str]:
    """`Castiel (Supernatural)` is also called `Castiel` where the rule is about Supernatural."""
    found = set(names)
    for name in names:
        bare = _BRACKETS.sub("", name)
        if bare != name and is_fandom(name[len(bare) :].strip(" ()"), _bare_fandoms(rule)):
            found.add(bare)
    return frozenset(found)


def _bare_fandoms(rule: ShipRule) -> list[str]:
    return [form for name in rule.fandoms for form in _fandom_forms(folded(name))]


def _policy(word: str, rule: ShipRule) -> Policy:
    told = {qualifier_name(name): policy for name, policy in rule.qualifiers.items()}
    return told.get(word, Policy.ACCEPT if word in _ACCEPTED_UNLESS_TOLD else Policy.REJECT)
