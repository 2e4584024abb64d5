"""Choose the wanted series from the results of a search: if it is not certain, a person decides."""

import unicodedata
from collections.abc import Sequence

from fascicle.domain.series.chapter import SeriesMatch
from fascicle.imports.wanted import Wanted

# Combining marks of the Latin, Greek and Cyrillic scripts. Those of kana make other letters, so they stay.
_MARKS = range(0x300, 0x370)


def normalised(title: str) -> str:
    """A title without case, spaces, punctuation and accents, which people write differently."""
    parts = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", title).casefold())
    kept = (c for c in parts if ord(c) not in _MARKS and unicodedata.category(c)[0] not in "PZC")
    return unicodedata.normalize("NFC", "".join(kept))


def choose(wanted: Wanted, found: Sequence[SeriesMatch]) -> SeriesMatch | None:
    """The only possible match: by a tracker's id, else by title. None: a person must decide."""
    found = _once_each(found)
    linked = [match for match in found if _has_same_id(wanted, match)]
    if len(linked) == 1:
        return linked[0]
    # Several editions may carry one id; only the title tells them apart.
    called = _called(wanted, linked or [match for match in found if not _has_other_id(wanted, match)])
    return called[0] if len(called) == 1 else None


def candidates(wanted: Wanted, found: Sequence[SeriesMatch]) -> list[SeriesMatch]:
    """The series that a person may choose from, the most likely first."""
    called = _called(wanted, found)
    return _once_each([*called, *found])


def reason(wanted: Wanted, found: Sequence[SeriesMatch]) -> str:
    """Why `choose` returned None."""
    found = _once_each(found)
    if not found:
        return "nothing was found"
    called = _called(wanted, found)
    if len(called) > 1:
        return f"{len(called)} series are called so"
    return "the one called so has another id" if called else "none is called exactly so"


def _once_each(found: Sequence[SeriesMatch]) -> list[SeriesMatch]:
    return list({match.info.site_key: match for match in found}.values())


def _called(wanted: Wanted, found: Sequence[SeriesMatch]) -> list[SeriesMatch]:
    names = {name for name in map(normalised, wanted.titles) if name}
    return [match for match in found if not names.isdisjoint(map(normalised, match.titles))]


def _has_same_id(wanted: Wanted, match: SeriesMatch) -> bool:
    return _same(wanted.anilist_id, match.anilist_id) or (
        _same(wanted.mal_id, match.mal_id) and not _differs(wanted.anilist_id, match.anilist_id)
    )


def _has_other_id(wanted: Wanted, match: SeriesMatch) -> bool:
    return _differs(wanted.anilist_id, match.anilist_id) or _differs(wanted.mal_id, match.mal_id)


def _same(one: str | None, other: str | None) -> bool:
    return one is not None and one == other


def _differs(one: str | None, other: str | None) -> bool:
    return None not in (one, other) and one != other
