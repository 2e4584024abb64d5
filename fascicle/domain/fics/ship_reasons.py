"""Why a work does not belong here, in sentences for the person who submitted it."""

from collections.abc import Sequence
from dataclasses import dataclass

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_PLACES = (
    *("", "first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)
_LONGEST_NAME = 100
_MOST_NAMED = 3


@dataclass(frozen=True)
class Findings:
    """The findings of one rule in one work."""

    label: str
    fandoms_wanted: Sequence[str]
    fandoms: Sequence[str]
    right_fandom: bool
    crossed_with: Sequence[str]
    right_pairing: bool
    refused: Sequence[str]
    """Qualifiers the rule does not accept, on tags that are the pairing."""
    with_others: Sequence[str]
    friendships: Sequence[str]
    similar: Sequence[str]
    pairings: Sequence[str]
    relationships: Sequence[str]
    place: int | None
    total: int
    misplaced: bool
    wants_only: bool
    most_ships: int | None

    @property
    def too_many(self) -> bool:
        return self.most_ships is not None and self.total > self.most_ships

    @property
    def satisfied(self) -> bool:
        wrong = self.crossed_with or self.misplaced or self.too_many
        return self.right_fandom and self.right_pairing and not wrong

    @property
    def closeness(self) -> int:
        """How close the work is to the rule: the closest rule gives the most helpful reasons."""
        if not self.right_fandom:
            return 0
        if self.right_pairing:
            return 4
        if self.refused or self.with_others:
            return 3
        return 2 if self.friendships or self.similar else 1


def reasons_of(found: Findings) -> list[str]:
    if not found.right_fandom:
        return [_wrong_fandom(found)]
    reasons = [] if found.right_pairing else [_wrong_pairing(found)]
    if found.crossed_with:
        reasons.append(f"It is a crossover with {_named(found.crossed_with)}; the rule accepts none.")
    if found.misplaced:
        reasons.append(_misplaced(found))
    if found.too_many:
        accepted = f"{_number(found.most_ships or 0)} at most"
        reasons.append(f"It has {_number(found.total)} pairings; the rule accepts {accepted}.")
    return reasons


def _wrong_fandom(found: Findings) -> str:
    wanted = f"the rule {found.label} is for {_cut(found.fandoms_wanted[0])}"
    if not found.fandoms:
        return f"It has no fandom tags; {wanted}."
    verb = "fandom is" if len(found.fandoms) == 1 else "fandoms are"
    return f"Its {verb} {_named(found.fandoms)}; {wanted}."


def _wrong_pairing(found: Findings) -> str:
    label = found.label
    if found.refused:
        return f"{label} is tagged as {' and '.join(_cut(word) for word in found.refused)}."
    if found.with_others:
        return f"{label} is only tagged together with others ({_named(found.with_others)})."
    if found.friendships:
        return f"The pairing {label} is only tagged as a friendship (&)."
    if found.similar:
        return f"{_named(found.similar)} is close to {label}, but not the same."
    if found.pairings:
        return f"{label} is not among its pairings: {_named(found.pairings)}."
    if found.relationships:
        return f"None of its relationship tags is {label}: {_named(found.relationships)}."
    return f"It has no relationship tags, so {label} is not among them."


def _misplaced(found: Findings) -> str:
    total = _number(found.total)
    if found.wants_only:
        return f"{found.label} is one of {total} pairings; the rule wants no other."
    return f"{found.label} is the {_place(found.place or 0)} of {total} pairings; the rule wants it first."


def _named(names: Sequence[str]) -> str:
    listed = [_cut(name) for name in names[:_MOST_NAMED]]
    more = len(names) - len(listed)
    return ", ".join(listed) + (f" and {_number(more)} more" if more else "")


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _place(number: int) -> str:
    if number < len(_PLACES):
        return _PLACES[number]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
