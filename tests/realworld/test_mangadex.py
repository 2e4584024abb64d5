"""Recorded MangaDex answers go through the real parser."""

from collections.abc import Sequence
from pathlib import Path

import httpx
import orjson
import pytest

from fascicle.domain.series.chapter import Upload, fold_uploads
from fascicle.domain.series.chapter_key import assign_keys
from fascicle.imports.matching import choose
from fascicle.imports.wanted import Wanted
from fascicle.net.answers import Answer
from fascicle.sites import mangadex


def recorded(folder: Path, name: str) -> Answer:
    body = (folder / "manga" / name).read_bytes()
    return Answer(200, f"recorded://{name}", httpx.Headers(), body)


def parse(folder: Path, name: str, languages: Sequence[str] = ()) -> list[Upload]:
    uploads, _, rows = mangadex._uploads(recorded(folder, name), languages)
    assert languages or rows == len(uploads), "every recorded row is understood"
    return uploads


FEEDS = ["mangadex_feed_chainsawman_en_mixed_external.json", "mangadex_feed_multilang_excerpt.json"]


@pytest.mark.parametrize("name", FEEDS)
def test_c5_recorded_feeds_fold_into_one_chapter_per_number(fixtures_folder: Path, name: str) -> None:
    uploads = parse(fixtures_folder, name)
    chapters = fold_uploads(uploads, assign_keys(uploads, {}), ["en"])
    numbers = {
        row["attributes"]["chapter"] for row in orjson.loads(recorded(fixtures_folder, name).body)["data"]
    }
    assert {c.best.number for c in chapters} == numbers
    assert sum(len(c.uploads) for c in chapters) == len(uploads)
    assert all(c.published_at for c in chapters)


def test_c5_hosted_uploads_are_preferred_to_external_links(fixtures_folder: Path) -> None:
    uploads = parse(fixtures_folder, FEEDS[0])
    for chapter in fold_uploads(uploads, assign_keys(uploads, {}), ["en"]):
        hosted = [u for u in chapter.uploads if not u.external]
        assert chapter.best.external is (not hosted)


def test_languages_nobody_asked_for_are_left_out(fixtures_folder: Path) -> None:
    assert {u.language for u in parse(fixtures_folder, FEEDS[1], ["en"])} == {"en"}
    assert len({u.language for u in parse(fixtures_folder, FEEDS[1])}) > 1


def test_a_recorded_manga_gives_its_title(fixtures_folder: Path) -> None:
    attributes = recorded(fixtures_folder, "mangadex_manga_bleach.json").json()["data"]["attributes"]
    assert mangadex._title(attributes) == attributes["title"]["en"]


@pytest.mark.parametrize(
    ("wanted", "title"),
    [
        (Wanted("anything", anilist_id="105778"), "Chainsaw Man"),
        (Wanted("anything", mal_id="116778"), "Chainsaw Man"),
        (Wanted("chainsaw man"), "Chainsaw Man"),
        (Wanted("チェンソーマン"), "Chainsaw Man"),
        (Wanted("Chainsaw Man: Digital Colored Comics"), "Chainsaw Man (Official Colored)"),
        (Wanted("Chainsaw"), None),
        (Wanted("Chainsaw Man", anilist_id="1"), None),
    ],
)
def test_c14_a_recorded_search_is_decided_without_guessing(
    fixtures_folder: Path, wanted: Wanted, title: str | None
) -> None:
    rows = recorded(fixtures_folder, "mangadex_manga_search_chainsaw.json").json()["data"]
    found = [match for row in rows if (match := mangadex._series_match(row))]
    assert len(found) == len(rows)
    chosen = choose(wanted, found)
    assert (chosen and chosen.info.title) == title
