"""Words: counted in every script, read at a known speed, cut where a reader would (I5)."""

import pytest

from fascicle.domain.feeds.item_words import (
    count_words,
    extractive_summary,
    lead_of,
    reading_minutes,
    sentences,
)


@pytest.mark.parametrize(
    ("text", "spaced", "cjk"),
    [
        ("", 0, 0),
        ("Don't count well-known 3.14 twice — ever!", 6, 0),
        ("吾輩は猫である。", 0, 7),
        ("Python 3 で書く", 2, 3),
        ("안녕하세요 세계", 2, 0),
        ("Ещё одно слово", 3, 0),
    ],
)
def test_i5_words_are_counted_in_every_script(text: str, spaced: int, cjk: int) -> None:
    assert count_words(text) == (spaced, cjk)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("word", 1), ("word " * 1150, 5), ("字" * 1500, 3), ("word " * 460 + "字" * 500, 3)],
)
def test_i5_reading_time_knows_that_characters_are_quicker_than_words(text: str, minutes: int) -> None:
    assert reading_minutes(count_words(text)) == minutes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rep. Smith left on Feb. 14. He came back!", ["Rep. Smith left on Feb. 14.", "He came back!"]),
        (
            "It costs 3.50 euros, e.g. at noon. “Yes.” No?",
            ["It costs 3.50 euros, e.g. at noon.", "“Yes.”", "No?"],
        ),
        ("J. R. R. Tolkien wrote.\nA heading\nMore.", ["J. R. R. Tolkien wrote.", "A heading", "More."]),
        ("吾輩は猫である。名前はまだ無い。", ["吾輩は猫である。", "名前はまだ無い。"]),
        ("Wait... what? Yes", ["Wait... what?", "Yes"]),
    ],
)
def test_i5_sentences_end_where_readers_say(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


LONG = "The lighthouse keeper climbed the stairs as he had done every evening for thirty years. "


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("", ""),
        ("One. Two.", "One. Two."),
        (LONG * 2 + "He never " + "ever " * 40 + "stopped.", (LONG * 2).strip()),
        ("Short teaser about ships. Read more", "Short teaser about ships."),
        ("A teaser that breaks off [&hellip;] Continue reading A Teaser →", "A teaser that breaks off…"),
        ("Ships sail. The post Ships appeared first on Blog.", "Ships sail."),
        ("He wants to read more books", "He wants to read more books"),
        ("There will be more", "There will be more"),
        ("A teaser without an end Read more »", "A teaser without an end"),
        ("Ships\n(more…)", "Ships"),
        ("The rest is silence [...]", "The rest is silence…"),
    ],
)
def test_i5_a_lead_is_the_first_sentences_without_invitations(text: str, lead: str) -> None:
    assert lead_of(text) == lead


def test_i5_a_lead_of_one_endless_sentence_is_cut_at_a_word() -> None:
    assert lead_of("word " * 200, 50) == ("word " * 9).strip() + "…"
    assert lead_of("字" * 100, 50) == "字" * 49 + "…"


ARTICLE = """Harbour towns grew rich on salt and herring.
Share this article
Salt was carried inland by mule along the old roads. The weather was fine on Tuesday in the valley.
Herring kept for months when packed in salt, and towns without salt went hungry.
My cousin owns a bicycle with a broken bell. Towns that had herring but no salt made treaties.
Subscribe to our newsletter"""


def test_i5_a_summary_is_made_of_the_sentences_that_say_most_in_their_order() -> None:
    summary = extractive_summary(ARTICLE, 190)
    assert summary == (
        "Harbour towns grew rich on salt and herring. "
        "Herring kept for months when packed in salt, and towns without salt went hungry. "
        "Towns that had herring but no salt made treaties."
    )
    assert extractive_summary(ARTICLE, 190) == summary


def test_i5_a_summary_of_little_is_its_beginning() -> None:
    assert extractive_summary("Just a caption") == "Just a caption"
    assert extractive_summary("") == ""
