"""The floor that no setting lowers (F3)."""

import pytest

from fascicle.domain.fics.ao3 import FLOOR_SECONDS, ao3_floor, is_archive


@pytest.mark.parametrize(
    ("url", "allowed", "floor"),
    [
        ("https://archiveofourown.org", [], FLOOR_SECONDS),
        ("https://archiveofourown.org", ["archiveofourown.org"], FLOOR_SECONDS),
        ("https://ArchiveOfOurOwn.org.:443/", ["archiveofourown.org.:443"], FLOOR_SECONDS),
        ("https://download.archiveofourown.net", ["download.archiveofourown.net"], FLOOR_SECONDS),
        ("https://archive.transformativeworks.org", ["archive.transformativeworks.org"], FLOOR_SECONDS),
        ("https://mirror.example", [], FLOOR_SECONDS),
        ("http://127.0.0.1:8080/ao3", ["127.0.0.1"], 0),
        ("http://simulator:8080/ao3", ["simulator:8080"], 0),
    ],
)
def test_f3_only_a_server_of_ones_own_is_asked_sooner(url: str, allowed: list[str], floor: float) -> None:
    assert ao3_floor(url, allowed) == floor


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("archiveofourown.org", True),
        ("WWW.AO3.org.", True),
        ("download.archiveofourown.org", True),
        ("notarchiveofourown.org", False),
        ("archiveofourown.org.evil.example", False),
        ("", False),
    ],
)
def test_f3_the_archive_is_known_by_all_its_names(host: str, expected: bool) -> None:
    assert is_archive(host) is expected
