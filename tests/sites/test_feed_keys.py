"""I2: each entry has an id of its own in its feed, the same at every reading."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from fascicle.domain.feeds.feed import Entry
from fascicle.sites.feeds.keys import with_keys

STORY = "https://www.bbc.example/news/c1"


def entry(guid: str | None = None, url: str | None = None, title: str = "", **more: Any) -> Entry:
    return Entry(key="", guid=guid, url=url and f"https://example.org/{url}", title=title, **more)


def keys(*entries: Entry) -> list[str]:
    return [found.key for found in with_keys(entries)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry(" g1 "), entry("g2", "a")], ["g1", "g2"]),
        ([entry(None, "a"), entry("", "b/?utm_source=x")], ["url:example.org/a", "url:example.org/b"]),
        # One id on every entry is none.
        (
            [entry("1", "a"), entry("1", "b"), entry("2", "c")],
            ["url:example.org/a", "url:example.org/b", "2"],
        ),
        # The same entry twice.
        ([entry("1", "a", "A"), entry("1", "a", "A")], ["1"]),
        ([entry("1", "a", "A"), entry("1", "a?utm_source=x", "A"), entry("2")], ["1", "2"]),
        # Nothing at all, or nothing but words.
        ([entry(), entry(None, None, "T"), entry(" "), entry("x")], ["sha:", "x"]),
        ([entry(summary="words"), entry(content="others")], ["sha:", "sha:"]),
        ([entry("g" * 301)], ["sha:"]),
        ([entry("g" * 300)], ["g" * 300]),
        # An address that several entries share tells none of them apart.
        (
            [entry(None, "a#1", "A"), entry(None, "a#2", "B"), entry(None, "b")],
            ["sha:", "sha:", "url:example.org/b"],
        ),
        # An id that looks like another's key.
        ([entry("url:example.org/a"), entry(None, "a")], ["sha:", "sha:"]),
        # The version of a story is no part of its id, unless several are listed; other fragments are.
        ([entry(f"{STORY}#0")], [STORY]),
        ([entry(f"{STORY}#12"), entry(f"{STORY}2#0")], [STORY, f"{STORY}2"]),
        ([entry(f"{STORY}#0"), entry(f"{STORY}#1")], [f"{STORY}#0", f"{STORY}#1"]),
        ([entry(f"{STORY}#0"), entry(STORY)], [f"{STORY}#0", STORY]),
        ([entry(f"{STORY}#0", "a"), entry(f"{STORY}#0", "b")], ["url:example.org/a", "url:example.org/b"]),
        ([entry(f"{STORY}#a1"), entry("tag:b#1")], [f"{STORY}#a1", "tag:b#1"]),
    ],
)
def test_i2_which_key_an_entry_has(entries: list[Entry], expected: list[str]) -> None:
    found = keys(*entries)
    assert [key if not key.startswith("sha:") else "sha:" for key in found] == expected
    assert len(set(found)) == len(found)


def test_i2_of_an_entry_listed_twice_the_later_version_counts() -> None:
    old, new = (datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2))
    for versions in ([old, new], [new, old]):
        (found,) = with_keys([entry("1", "a", "A", updated_at=version) for version in versions])
        assert found.updated_at == new


def test_i2_entries_with_one_id_and_address_but_other_titles_stay_apart() -> None:
    found = keys(entry("1", "a", "A"), entry("1", "a", "B"))
    assert len(set(found)) == 2
    assert found[0] == keys(entry("1", "a", "C"), entry("1", "a", "A"))[1]


def test_i2_neither_order_nor_company_changes_a_key() -> None:
    entries = [
        *(entry(f"g{number}", f"a{number}") for number in range(5)),
        *(entry("same", f"b{number}") for number in range(3)),
        *(entry(None, f"c{number}") for number in range(3)),
        *(entry(None, "shared", f"T{number}") for number in range(3)),
        *(entry(summary=f"words {number}") for number in range(3)),
    ]
    by_entry = {(e.guid, e.url, e.title, e.summary): e.key for e in with_keys(entries)}
    assert len(by_entry) == len(set(by_entry.values())) == len(entries)
    shuffled = [*entries, *(entry(f"new{number}", f"n{number}") for number in range(3))]
    random.Random(1).shuffle(shuffled)
    for found in with_keys(shuffled):
        known = by_entry.get((found.guid, found.url, found.title, found.summary))
        assert known == found.key or (found.guid or "").startswith("new")
