"""Addresses of works on FanFicFare's sites, without asking them."""

import re

import pytest

from fascicle.domain.errors import PermanentError
from fascicle.domain.fics.fic_url import normal_form
from fascicle.sites.fanficfare import normal_form_of, rebased, wattpad_lookup_url, wattpad_story_of


@pytest.mark.parametrize(
    ("url", "key", "normal"),
    [
        ("https://ficbook.net/readfic/93626/246417#part_content", "ficbook.net-work-93626", "https://ficbook.net/readfic/93626"),
        ("http://www.ficbook.net/readfic/93626", "ficbook.net-work-93626", "https://ficbook.net/readfic/93626"),
        ("https://squidgeworld.org/works/4711/chapters/5", "squidgeworld.org-work-4711", "https://squidgeworld.org/works/4711"),
        ("https://WWW.FimFiction.net/story/123/2/a-title", "fimfiction.net-work-123", "https://www.fimfiction.net/story/123/"),
        ("https://www.scribblehub.com/series/123456/a-title/", "scribblehub.com-work-123456", "https://www.scribblehub.com/series/123456/a-title/"),
    ],
)  # fmt: skip
def test_f1_an_address_has_one_normal_form(url: str, key: str, normal: str) -> None:
    ref = normal_form_of(url)
    assert ref is not None
    assert (ref.key, ref.url) == (key, normal)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://download.archiveofourown.com/works/12", "ao3-work-12"),
        ("https://download.archiveofourown.net/works/12/chapters/3", "ao3-work-12"),
        ("https://forum.spacebattles.com/threads/a-tale.77/", "spacebattles-work-77"),
        ("https://squidgeworld.org/works/12", "squidgeworld.org-work-12"),
    ],
)
def test_f3_no_name_of_a_site_of_ours_leads_past_its_own_gate(url: str, key: str) -> None:
    assert normal_form(url, normal_form_of).key == key


@pytest.mark.parametrize(
    "url",
    [
        "https://ficbook.net/authors/1",
        "https://ficbook.net/",
        "https://ficbook.net:8443/readfic/93626",
        "https://user@ficbook.net/readfic/93626",
        "https://ficbook.net@evil.example/readfic/93626",
        "https://evil.example/?u=https://ficbook.net/readfic/93626",
        "https://ficbook.net.evil.example/readfic/93626",
        "https://127.0.0.1/readfic/93626",
        "https://[::1]/readfic/93626",
        "https://2130706433/readfic/93626",
        "https://test1.com/?sid=5",
        "https://www.wattpad.com/675342676-a-part",
        "ftp://ficbook.net/readfic/93626",
        "https://example.com/[invalid",
        "https://ficbook.net/readfic/" + "9" * 3000,
        "",
    ],
)
def test_f1_hostile_and_other_addresses_have_none(url: str) -> None:
    assert normal_form_of(url) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://www.literotica.com/s/caf%C3%A9-au-lait", "http://literotica.com/s/caf%C3%A9-au-lait", True),
        ("https://ncode.syosetu.com/n1234ab/", "http://ncode.syosetu.com/n1234ab", True),
        ("https://www.whofic.com/viewstory.php?sid=1", "https://www.whofic.com/viewstory.php?sid=2", False),
        ("https://readonlymind.com/@Ann/Tale/", "https://readonlymind.com/@Bob/Tale/", False),
        ("https://abraxan.fanficauthors.net/Tale/", "https://bobmin.fanficauthors.net/Tale/", False),
        (
            "https://hp.adult-fanfiction.org/story.php?no=600112233",
            "https://anime.adult-fanfiction.org/story.php?no=600112233",
            False,
        ),
    ],
)
def test_f1_works_have_one_key_each_where_ids_are_no_numbers_of_the_site(
    one: str, other: str, same: bool
) -> None:
    first, second = normal_form_of(one), normal_form_of(other)
    assert first is not None
    assert second is not None
    assert (first.key == second.key) is same
    assert re.fullmatch(r"[A-Za-z0-9._-]+", first.id)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.royalroad.com/fiction/1?a=b", "http://127.0.0.1:9/royalroad/fiction/1?a=b"),
        ("https://www.royalroad.com.example/fiction/1", "https://www.royalroad.com.example/fiction/1"),
        ("http://www.royalroad.com/fiction/1", "http://www.royalroad.com/fiction/1"),
    ],
)
def test_a_page_comes_from_a_server_of_ones_own_where_one_is_named(url: str, expected: str) -> None:
    assert rebased(url, {"https://www.royalroad.com": "http://127.0.0.1:9/royalroad/"}) == expected


def test_f1_wattpad_says_which_story_a_part_belongs_to() -> None:
    assert wattpad_lookup_url("675342676") == "https://www.wattpad.com/v4/parts/675342676?fields=group(id)"
    assert wattpad_story_of(b'{"group": {"id": "173080052"}}') == "173080052"
    assert wattpad_story_of(b'{"group": {"id": 173080052}}') == "173080052"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{}", "not_found"),
        (b'{"group": null}', "not_found"),
        (b'{"group": {"id": "../1"}}', "parser_broken"),
        (b'{"group": 5}', "parser_broken"),
        (b"[]", "parser_broken"),
        (b"<html>", "parser_broken"),
        (b"[" * 100_000, "parser_broken"),
    ],
)
def test_f9_wattpads_answer_without_a_story(body: bytes, code: str) -> None:
    with pytest.raises(PermanentError) as raised:
        wattpad_story_of(body)
    assert raised.value.code == code


def test_f9_a_part_is_a_number() -> None:
    with pytest.raises(PermanentError, match="no part"):
        wattpad_lookup_url("1/../../x")
