"""What people are told of a fic's job (F2, F5, F7, F9)."""

from typing import Any

import pytest

from fascicle.domain.fics.fic import Fic, FicCode, FicKind, FicView, JobState, WorkResult
from fascicle.domain.fics.fic_words import describe, describe_queue, duration
from fascicle.domain.harmless_text import escape_markdown

URL = "https://ao3.test/works/5"
POLITE = "AO3 is asked at most once in 20 seconds"


def a_view(state: JobState = JobState.PENDING, **fields: Any) -> FicView:
    defaults = {"key": "ao3-work-5", "workflow_id": "fic-ao3-work-5", "url": URL, "site": "ao3"}
    return FicView(**{**defaults, "kind": FicKind.WORK, "state": state, **fields})


def a_fic(**fields: Any) -> Fic:
    return Fic(**{"site": "ao3", "id": "5", "url": URL, "title": "Salt", "authors": ["ann"], **fields})


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "1 s"),
        (44.6, "45 s"),
        (59.7, "1 min"),
        (80, "1 min 20 s"),
        (599, "9 min 59 s"),
        (630, "10 min"),
        (3599, "1 h"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"position": 2, "eta_seconds": 80, "waiting_for": POLITE},
            f"Second in AO3's queue, about 1 min 20 s: {POLITE}.",
        ),
        ({"position": 1, "eta_seconds": 3}, "Next in AO3's queue, about 3 s."),
        ({"position": 11}, "Number 11 in AO3's queue."),
        ({"site": "wattpad"}, "Waiting in Wattpad's queue."),
        ({"site": "elsewhere.test", "title": "Salt"}, "Salt: Waiting in elsewhere.test's queue."),
        ({"subscribers": 3, "position": 1}, "Next in AO3's queue. 3 people wait for it."),
        ({"state": JobState.PROCESSING}, "AO3 is being asked right now."),
        ({"round": 0, "waiting_for": "Nobody has asked for it yet"}, "Nobody has asked for it yet."),
        (
            {"state": JobState.COOLDOWN, "eta_seconds": 600, "waiting_for": "it answered 503 three times."},
            "AO3 is left in peace for a while, this one has its turn in about 10 min: "
            "it answered 503 three times.",
        ),
    ],
)
def test_f2_whoever_waits_is_told_where_how_long_and_why(fields: dict[str, Any], words: str) -> None:
    assert describe(a_view(**fields)) == words


@pytest.mark.parametrize(
    ("fic", "words"),
    [
        (a_fic(), "Done: Salt by ann"),
        (a_fic(authors=[], words=1), "Done: Salt by Anonymous (1 word)"),
        (
            a_fic(authors=["ann", "bo", "cy"], words=48250, rating="Mature", chapters=12),
            "Done: Salt by ann, bo and cy (48,250 words, Mature, chapter 12 of ?)",
        ),
        (a_fic(words=900, chapters=1, chapters_total=1), "Done: Salt by ann (900 words)"),
        (None, "Done: This fic"),
    ],
)
def test_a_fic_that_was_read_is_shown(fic: Fic | None, words: str) -> None:
    assert describe(a_view(JobState.DONE, fic=fic)) == words


def test_f6_an_override_is_told() -> None:
    view = a_view(JobState.DONE, fic=a_fic(), override_by="discord:1")
    assert describe(view) == "Done: Salt by ann\nA moderator let it in."


def test_f6_a_fic_that_does_not_belong_here_comes_with_reasons_and_a_way_out() -> None:
    view = a_view(JobState.NOTP, title="Salt", reasons=["Its pairing is missing.", "Wrong fandom."])
    assert describe(view).splitlines() == [
        "Salt does not belong here:",
        "- Its pairing is missing.",
        "- Wrong fandom.",
        "A moderator can let it in all the same (override).",
    ]


@pytest.mark.parametrize("code", FicCode)
def test_f9_every_code_has_a_sentence_of_its_own_that_says_what_to_do(code: FicCode) -> None:
    words = {other: describe(a_view(JobState.ERROR, error_code=other)) for other in FicCode}
    assert [other for other in FicCode if words[other] == words[code]] == [code]
    assert "AO3" in words[code]
    assert "ubmit it again" in words[code] or "Please tell" in words[code]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"error_code": "expired", "error": "It took too long"}, "It took too long. Submit it again"),
        ({}, "Something went wrong. Submit it again"),
    ],
)
def test_an_error_without_a_sentence_of_its_own_says_what_is_known(
    fields: dict[str, str], words: str
) -> None:
    assert describe(a_view(JobState.ERROR, **fields)).startswith(words)


def test_f7_a_series_tells_of_each_work_and_of_the_hidden_ones() -> None:
    works = [
        WorkResult(part=1, title="One", state=JobState.DONE),
        WorkResult(part=2, title="Two", state=JobState.NOTP, reasons=["Wrong pairing."]),
        WorkResult(part=4, id="9", state=JobState.ERROR, reasons=["no heading"]),
        WorkResult(title="Five", state=JobState.PENDING),
    ]
    view = a_view(JobState.SERIES_DONE, title="All", works=works, hidden_works=1)
    assert describe(view).splitlines() == [
        "Done: All, 1 of 4 works",
        "1. One",
        "2. Two: does not belong here (Wrong pairing)",
        "4. work 9: could not be read (no heading)",
        "- Five: not yet",
        "1 work is for members of AO3 only: as a guest we cannot read that.",
    ]


def test_f7_a_long_series_is_cut() -> None:
    works = [WorkResult(part=n, title=f"W{n}", state=JobState.DONE) for n in range(1, 26)]
    lines = describe(a_view(JobState.SERIES_DONE, works=works, hidden_works=2)).splitlines()
    assert (lines[0], len(lines), lines[21]) == ("Done: This series, 25 works", 23, "… and 5 more")
    assert lines[22].startswith("2 works are for members")


def test_the_queue_is_a_line_each() -> None:
    views = [
        a_view(JobState.PROCESSING, title="Salt"),
        a_view(eta_seconds=80, waiting_for=f"{POLITE}."),
        a_view(JobState.COOLDOWN),
        a_view(JobState.ERROR),
        a_view(JobState.NOTP),
        a_view(JobState.DONE),
    ]
    assert describe_queue(views).splitlines() == [
        f"1. Salt {URL}: being read",
        f"2. {URL}: in about 1 min 20 s, {POLITE}",
        f"3. {URL}: waiting",
        f"4. {URL}: could not be read",
        f"5. {URL}: does not belong here",
        f"6. {URL}: done",
    ]
    assert "empty" in describe_queue([])


@pytest.mark.parametrize(
    "view",
    [
        a_view(title="*x*", waiting_for="*x*"),
        a_view(JobState.COOLDOWN, title="*x*", waiting_for="*x*"),
        a_view(JobState.PROCESSING, title="*x*"),
        a_view(JobState.DONE, fic=a_fic(title="*x*", authors=["*x*"], rating="*x*")),
        a_view(JobState.NOTP, title="*x*", reasons=["*x*"]),
        a_view(JobState.ERROR, title="*x*", error="*x*"),
        a_view(
            JobState.SERIES_DONE,
            title="*x*",
            works=[WorkResult(title="*x*", state=JobState.NOTP, reasons=["*x*"])],
        ),
    ],
)
def test_what_others_wrote_is_escaped_everywhere(view: FicView) -> None:
    for words in (describe(view, escape_markdown), describe_queue([view], escape_markdown)):
        assert words.count("*x*") == 0
    assert r"\*x\*" in describe(view, escape_markdown)
