"""C14: a title is matched when there is no doubt, and never guessed."""

import pytest

from fascicle.domain.series.chapter import SeriesInfo, SeriesMatch
from fascicle.imports.matching import candidates, choose, normalised, reason
from fascicle.imports.wanted import Wanted


def match(key: str, *titles: str, al: str | None = None, mal: str | None = None) -> SeriesMatch:
    return SeriesMatch(SeriesInfo(key, titles[0], f"https://mangadex.org/title/{key}"), titles, al, mal)


MAN = match("man", "Chainsaw Man", "チェンソーマン", al="105778", mal="116778")
COLOURED = match("coloured", "Chainsaw Man (Official Colored)")
DOUJIN = match("doujin", "Chainsaw Man", al="5")
COPY = match("copy", "chainsaw-man")


@pytest.mark.parametrize(
    ("wanted", "found", "chosen"),
    [
        (Wanted("Anything", anilist_id="105778"), [COLOURED, MAN], MAN),
        (Wanted("Anything", mal_id="116778"), [COLOURED, MAN], MAN),
        (Wanted("CHAINSAW MAN!"), [COLOURED, MAN], MAN),
        (Wanted("No", other_titles=("チェンソーマン",)), [COLOURED, MAN], MAN),
        (Wanted("Chainsaw Man", anilist_id="105778"), [DOUJIN, MAN], MAN),
        (Wanted("Chainsaw Man", anilist_id="1"), [MAN, DOUJIN, COPY], COPY),
        (Wanted("Chainsaw Man"), [MAN, MAN], MAN),
    ],
)
def test_c14_what_is_certain(wanted: Wanted, found: list[SeriesMatch], chosen: SeriesMatch) -> None:
    assert choose(wanted, found) is chosen


@pytest.mark.parametrize(
    ("wanted", "found", "why"),
    [
        (Wanted("Chainsaw"), [MAN, COLOURED], "none is called exactly so"),
        (Wanted("Chainsaw Man"), [MAN, DOUJIN], "2 series are called so"),
        (Wanted("Chainsaw Man", anilist_id="9"), [MAN], "another id"),
        (Wanted("Chainsaw Man", anilist_id="9", mal_id="116778"), [MAN], "another id"),
        (Wanted("!!!"), [match("x", "???")], "none"),
        (Wanted("Chainsaw Man"), [], "nothing was found"),
    ],
)
def test_c14_what_is_left_to_a_person(wanted: Wanted, found: list[SeriesMatch], why: str) -> None:
    assert choose(wanted, found) is None
    assert why in reason(wanted, found)


def test_candidates_called_so_come_first_and_once() -> None:
    listed = candidates(Wanted("Chainsaw Man"), [COLOURED, DOUJIN, MAN, DOUJIN])
    assert listed == [DOUJIN, MAN, COLOURED]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Re:Zero", "rezero"), ("Shōjo", "SHOJO"), ("K-ON!", "k on"), ("Ａｂｃ", "abc"), ("It’s", "It's")],
)
def test_titles_that_are_the_same(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("が", "か"), ("×××Holic", "Holic"), ("Act 1", "Act 2"), ("C++", "C")],
)
def test_titles_that_are_not(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)
