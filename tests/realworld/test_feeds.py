"""Feeds as they were recorded, and the corpus of feedparser where it is at hand."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from fascicle.domain.errors import PermanentError
from fascicle.domain.feeds.feed import FeedKind, ParsedFeed
from fascicle.sites.feeds.keys import with_keys
from fascicle.sites.feeds.parse import parse_feed

NOW = datetime(2026, 11, 16, tzinfo=UTC)
# Of the processor, for two readings of one document: the largest recorded one takes one.
_SECONDS = 30
# What SOURCES.txt says of each: kind and how many entries there are.
RECORDED = {
    "rss20_techcrunch.xml": (FeedKind.RSS, 20),
    "rss20_guardian.rss": (FeedKind.RSS, 55),
    "pair_update_1_motherjones.xml": (FeedKind.RSS, 10),
    "pair_update_2_motherjones.xml": (FeedKind.RSS, 10),
    "pair_guidflood_1_google.xml": (FeedKind.RSS, 20),
    "pair_guidflood_2_google.xml": (FeedKind.RSS, 20),
    "pair_migration_1_tumblr.xml": (FeedKind.RSS, 20),
    "pair_migration_2_jekyll.xml": (FeedKind.ATOM, 10),
    "rss10_rdf_heise.xml": (FeedKind.RDF, 60),
    "rss10_craigslist.rdf": (FeedKind.RDF, 25),
    "atom_samruby.xml": (FeedKind.ATOM, 20),
    "atom_heise.atom": (FeedKind.ATOM, 15),
    "atom_github_commits.atom": (FeedKind.ATOM, 20),
    "jsonfeed_daringfireball_style.json": (FeedKind.JSON, 20),
    "jsonfeed_reader_full.json": (FeedKind.JSON, 2),
    "youtube_channel_google.xml": (FeedKind.YOUTUBE, 15),
    "youtube_channel_secdsm.xml": (FeedKind.YOUTUBE, 15),
    "podcast_namespace20.xml": (FeedKind.PODCAST, 3),
    "podcast_itunes.rss": (FeedKind.PODCAST, 4),
    "podcast_huge_giantbomb.rss": (FeedKind.PODCAST, 730),
    "enc_windows1251.xml": (FeedKind.RSS, 50),
    "enc_iso88591_undeclared.xml": (FeedKind.RSS, 10),
    "enc_utf16.xml": (FeedKind.RSS, 1),
    "malformed_control_chars_slashdot.xml": (FeedKind.ATOM, 38),
    "malformed_namespaced_rss.xml": (FeedKind.RSS, 2),
    "malformed_invalid_date.xml": (FeedKind.RSS, 2),
    "malformed_missing_fields.atom": (FeedKind.ATOM, 1),
    "empty.rss": (FeedKind.RSS, 1),
}


@cache
def _read(folder: Path, name: str) -> ParsedFeed:
    file = folder / "feeds" / name
    if not file.exists():
        pytest.skip(f"{name} is not among the recorded feeds here")
    return parse_feed(file.read_bytes(), url=f"https://example.org/{name}", now=NOW)


@pytest.mark.parametrize("name", RECORDED)
def test_i1_a_recorded_feed_and_its_keys(fixtures_folder: Path, name: str) -> None:
    found = _read(fixtures_folder, name)
    assert (found.kind, found.entries_total) == RECORDED[name]
    assert found.skipped == 0
    assert len(found.entries) == found.entries_total - found.skipped
    keys = {entry.key: entry.url for entry in found.entries}
    assert len(keys) == len(found.entries)
    assert {entry.key: entry.url for entry in with_keys(found.entries[::-1])} == keys


def test_i1_a_recorded_page_is_no_feed(fixtures_folder: Path) -> None:
    with pytest.raises(PermanentError, match="“Document Moved”"):
        _read(fixtures_folder, "notafeed_unrecognized.rss")


def test_i1_a_recorded_list_of_feeds_is_no_feed(fixtures_folder: Path) -> None:
    with pytest.raises(PermanentError, match="OPML"):
        _read(fixtures_folder, "opml_newsblur.xml")


def test_i4_an_update_shares_its_keys_with_what_was_there_before(fixtures_folder: Path) -> None:
    before, after = (
        {entry.key for entry in _read(fixtures_folder, f"pair_update_{number}_motherjones.xml").entries}
        for number in (1, 2)
    )
    assert (len(before & after), len(after - before)) == (7, 3)


def test_i1_recorded_umlauts_and_accents(fixtures_folder: Path) -> None:
    found = _read(fixtures_folder, "enc_iso88591_undeclared.xml")
    assert found.entries[-1].title == "Psychologue à domicile : de la clinique à l'état brut"


def test_i1_recorded_videos_and_episodes(fixtures_folder: Path) -> None:
    for entry in _read(fixtures_folder, "youtube_channel_google.xml").entries:
        assert (entry.provider, entry.key) == ("youtube", f"yt:video:{entry.provider_item_id}")
        assert entry.image_url
    episodes = _read(fixtures_folder, "podcast_huge_giantbomb.rss").entries
    assert sum(1 for entry in episodes if entry.media_type == "audio/mpeg" and entry.published_at) == 730


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in (folder / "feeds").glob("*.*") if file.name != "SOURCES.txt")


def test_i1_every_recorded_feed_is_read_the_same_twice(fixtures_folder: Path) -> None:
    """Those that nobody has counted the entries of, too."""
    files = _files(fixtures_folder)
    if not files:
        pytest.skip("no feeds are recorded here")
    for file in files:
        _assert_read_the_same_twice(file)


def _assert_read_the_same_twice(file: Path) -> bool:
    """Unique ids, the same again, in bounded time. False: it is no feed."""
    began = time.process_time()
    first, second = (_keys_of(file) for _ in range(2))
    assert time.process_time() - began < _SECONDS, file
    assert first == second, file
    assert first is None or len(set(first)) == len(first), file
    return first is not None


def _keys_of(file: Path) -> list[str] | None:
    """The keys of its entries; None: it says that it is no feed."""
    try:
        found = parse_feed(file.read_bytes(), url="https://example.org/feed", now=NOW)
    except PermanentError as error:
        if error.code != "not_a_feed":
            raise
        return None
    return [entry.key for entry in found.entries]


def _corpus(folder: Path) -> Iterator[Path]:
    named = os.environ.get("FEEDPARSER_TESTS")
    places = [Path(named)] if named else sorted(folder.glob("feeds/feedparser*"))
    for place in places:
        yield from sorted(file for file in place.rglob("*") if file.suffix in (".xml", ".gz", ".z"))


def test_i6_the_corpus_of_feedparser(fixtures_folder: Path) -> None:
    files = list(_corpus(fixtures_folder))
    if not files:
        pytest.skip("no feedparser corpus: FEEDPARSER_TESTS names no folder, and none is with the fixtures")
    refused = sum(not _assert_read_the_same_twice(file) for file in files)
    # Compressed ones, those of mainframes (EBCDIC), and CDF channels without an item.
    assert refused < len(files) / 50
