"""What in a document is news: ids lie, so they are not all that is looked at (I4)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fascicle.domain.feeds.feed import Entry
from fascicle.domain.feeds.news import (
    Judgement,
    Listed,
    Seen,
    Verdict,
    all_keys,
    judge,
    listed_entry,
    second_key,
    title_key,
)

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def entry(number: int, **changes: Any) -> Entry:
    given = {
        "key": f"guid-{number}",
        "url": f"https://blog.example/posts/{number}",
        "title": f"The story of day {number}",
        "content": f"<p>Words of day {number}.</p>",
        "published_at": NOW - timedelta(days=100 - number),
    }
    return Entry(**{**given, **changes})


def entries(numbers: range, **changes: Any) -> list[Entry]:
    return [entry(number, **changes) for number in numbers]


class Feed:
    """What was seen of a feed, as the database would keep it."""

    def __init__(self, seen: list[Entry]) -> None:
        self.seen: dict[str, Seen] = {}
        self.newest: datetime | None = None
        self.items = 0
        if seen:
            self.read(seen, first=True)

    def read(self, document: list[Entry], *, first: bool = False) -> Judgement:
        listed = [listed_entry(e) for e in document]
        judgement = judge(
            listed,
            known={key: self.seen[key] for key in all_keys(listed) if key in self.seen},
            lookalikes=[s for s in self.seen.values() if self._is_like(s, listed)],
            first=first,
            newest_published_at=self.newest,
        )
        for judged in judgement.entries:
            self._note(judged.listed, judged.seen)
        dates = [e.published_at for e in document if e.published_at]
        self.newest = max([*dates, *([self.newest] if self.newest else [])], default=None)
        return judgement

    def verdicts(self, document: list[Entry]) -> list[str]:
        return [judged.verdict.value for judged in self.read(document).entries]

    def _is_like(self, seen: Seen, listed: list[Listed]) -> bool:
        return any(
            (one.url_key and one.url_key == seen.url_key)
            or (one.title_key and one.title_key == seen.title_key)
            for one in listed
        )

    def _note(self, one: Listed, seen: Seen | None) -> None:
        self.items += seen is None
        item = seen.item_id if seen else self.items
        self.seen[one.key] = Seen(
            one.key, item, one.url_key, one.title_key, one.content_hash, one.published_at
        )


def test_i4_a_first_reading_is_history_and_the_second_brings_only_what_is_new() -> None:
    feed = Feed(entries(range(10)))
    assert feed.verdicts(entries(range(3, 13))) == ["known"] * 7 + ["new"] * 3
    assert feed.verdicts(entries(range(3, 13))) == ["known"] * 10


def test_i4_an_edit_updates() -> None:
    feed = Feed(entries(range(3)))
    assert feed.verdicts([entry(0), entry(1, title="Corrected"), entry(2, content="<p>More.</p>")]) == [
        "known",
        "edited",
        "edited",
    ]


def test_i4_what_reappears_is_known() -> None:
    feed = Feed(entries(range(3)))
    feed.read(entries(range(2, 5)))
    assert feed.verdicts(entries(range(5))) == ["known"] * 5


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="ids only"),
        pytest.param({"url": "http://www.blog.example:443/posts/{}"}, id="ids and host"),
        pytest.param({"url": "https://new.example/{}.html"}, id="another site"),
        pytest.param({"url": "https://new.example/{}.html", "content": "<p>other</p>"}, id="other words"),
        pytest.param({"url": "https://new.example/{}.html", "published_at": None}, id="no dates"),
    ],
)
def test_i4_all_ids_changed_at_once_refills_nothing(changes: dict[str, Any]) -> None:
    feed = Feed(entries(range(20)))

    def moved(number: int) -> Entry:
        given = {k: v.format(number) if k == "url" else v for k, v in changes.items()}
        return entry(number, key=f"moved-{number}", **given)

    judgement = feed.read([moved(number) for number in range(20)])
    assert {judged.verdict for judged in judgement.entries} == {Verdict.RENAMED}
    assert [judged.seen and judged.seen.item_id for judged in judgement.entries] == list(range(1, 21))
    assert judgement.flood
    # And from then on the new ids are the known ones.
    assert feed.verdicts([moved(19), moved(20)]) == ["known", "new"]


def test_i4_a_move_with_old_posts_beside_the_known_ones_and_a_fresh_one() -> None:
    feed = Feed(entries(range(50, 60)))
    moved = [
        entry(n, key=f"new-{n}", url=f"https://new.example/{n}") for n in (*range(50, 60), *range(40), 70)
    ]
    verdicts = dict(zip((e.key for e in moved), feed.verdicts(moved), strict=True))
    assert [verdicts[f"new-{n}"] for n in range(50, 60)] == ["renamed"] * 10
    assert {verdicts[f"new-{n}"] for n in range(40)} == {"silent"}
    assert verdicts["new-70"] == "new"


def test_i4_a_window_that_grows_shows_history_not_news() -> None:
    feed = Feed(entries(range(90, 100)))
    judgement = feed.read([*entries(range(101)), entry(101)])
    verdicts = {judged.listed.key: judged.verdict for judged in judgement.entries}
    assert {verdicts[f"guid-{n}"] for n in range(90)} == {Verdict.SILENT}
    assert verdicts["guid-100"] is verdicts["guid-101"] is Verdict.NEW
    assert judgement.flood


def test_i4_after_a_long_absence_everything_is_new() -> None:
    feed = Feed(entries(range(20)))
    judgement = feed.read(entries(range(40, 60)))
    assert {judged.verdict for judged in judgement.entries} == {Verdict.NEW}
    assert not judgement.flood
    undated = Feed(entries(range(20), published_at=None))
    assert set(undated.verdicts(entries(range(40, 60), published_at=None))) == {"new"}


def test_i4_a_backdated_post_is_new() -> None:
    feed = Feed(entries(range(50, 60)))
    assert feed.verdicts([*entries(range(50, 60)), entry(3)])[-1] == "new"


def test_i2_one_id_for_everything_a_feed_ever_lists() -> None:
    feed = Feed([entry(1, key="1")])
    assert feed.verdicts([entry(2, key="1")]) == ["new"]
    assert feed.verdicts([entry(2, key="1")]) == ["known"]
    assert feed.verdicts([entry(2, key="1", content="<p>Edited.</p>")]) == ["edited"]
    assert feed.verdicts([entry(3, key="1")]) == ["new"]


def test_i2_the_same_id_with_a_new_title_or_a_new_address_is_an_edit() -> None:
    feed = Feed([entry(1), entry(2), entry(3)])
    changed = [
        entry(1, title="Quite another title"),
        entry(2, url="https://blog.example/posts/better-slug"),
        entry(
            3, title="Both changed", url="https://blog.example/posts/both", published_at=entry(3).published_at
        ),
    ]
    assert feed.verdicts(changed) == ["edited"] * 3


def test_i4_the_next_of_a_series_is_no_old_thing_under_a_new_id() -> None:
    """A forecast: one address, one title, another day, other words."""

    def forecast(day: int, words: str) -> Entry:
        place = {"url": "https://weather.example/berlin", "title": "Weather for Berlin"}
        return entry(day, content=words, **place)

    feed = Feed([forecast(1, "Rain.")])
    assert feed.verdicts([forecast(2, "Sun.")]) == ["new"]
    assert feed.verdicts([forecast(3, "Snow."), forecast(4, "Hail.")]) == ["new", "new"]


def test_i4_a_generator_that_makes_up_ids_and_dates_at_each_request() -> None:
    feed = Feed(entries(range(5)))
    for hour in range(1, 4):
        made_up = [
            entry(n, key=f"{hour}-{n}", published_at=entry(n).published_at + timedelta(hours=hour))  # type: ignore[operator]
            for n in range(5)
        ]
        assert feed.verdicts(made_up) == ["renamed"] * 5


def test_i4_repeated_titles_are_no_evidence() -> None:
    titles = {"title": "Weekly open thread"}
    feed = Feed([entry(1, **titles), entry(8, **titles)])
    assert feed.verdicts([entry(15, **titles), entry(22, **titles)]) == ["new", "new"]
    single = Feed([entry(1, **titles)])
    assert single.verdicts([entry(8, **titles)]) == ["new"]


def test_keys_compare_titles_without_case_and_punctuation() -> None:
    assert title_key("  The “Big” Day — part 1! ") == title_key("the big day part 1")
    assert title_key("日本語") == "日本語"
    one, other = listed_entry(entry(1, key="x")), listed_entry(entry(2, key="x"))
    assert second_key(one) != second_key(other)
    assert len(second_key(listed_entry(entry(1, key="k" * 300)))) <= 300


def test_judging_many_is_not_quadratic() -> None:
    """Five thousand entries at one address: each is compared with a few, not with all."""
    many = [entry(n, url="https://one.example/", title=f"t {n}") for n in range(5000)]
    feed = Feed([])
    listed = [listed_entry(e) for e in many]
    seen = [Seen(f"old-{n}", n, listed[0].url_key, f"other {n}", "hash", None) for n in range(5000)]
    judgement = judge(listed, known={}, lookalikes=seen, first=False, newest_published_at=None)
    assert len(judgement.entries) == 5000
    assert feed.items == 0
