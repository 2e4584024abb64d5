"""`fascicle library`, `user set` and the schedules behind them, at the command line (C8, O5)."""

import pytest

from tests.starter.conftest import BRACKETS, Running


def test_c8_what_a_person_follows_reads_and_wishes(running: Running) -> None:
    running.fascicle("user", "add", "lena")
    added = running.json("library", "add", "lena", "Twin Rivers", "--mode", "daily", "--language", "en")
    assert (added["created"], added["mode"], added["languages"]) == (True, "daily", ["en"])
    assert running.json("library", "read", "lena", "Twin Rivers", "2")["read"] == "2"
    [entry] = running.json("library", "list", "lena")
    assert (entry["mode"], entry["read_number"], entry["unread"]) == ("daily", "2", 1)
    assert "off" in running.fascicle("library", "mode", "lena", "off", "--series", "Twin Rivers").out
    assert running.json("library", "list", "lena")[0]["mode"] == "off"
    changed = running.fascicle("library", "add", "lena", "Twin Rivers", "--mode", "user")
    assert "already follows" in changed.out
    assert "changed: mode" in changed.out
    running.fascicle("library", "mode", "lena", "hourly")
    assert running.json("library", "list", "lena")[0]["mode"] == "hourly"
    wishes = ("--time-zone", "Europe/Berlin", "--digest-hour", "7", "--cap", "5")
    assert running.json("user", "set", "lena", *wishes)["daily_cap"] == 5
    assert running.json("user", "set", "lena", "--cap", "default")["daily_cap"] is None
    [user] = [row for row in running.json("user", "list") if row["name"] == "lena"]
    assert (user["time_zone"], user["digest_hour"], user["daily_cap"]) == ("Europe/Berlin", 7, None)
    assert running.json("library", "remove", "lena", "Twin Rivers")["removed"]
    assert running.json("library", "list", "lena") == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("user", "set", "ann", "--time-zone", "Mars/Olympus"), "no time zone"),
        (("user", "set", "ann", "--mode", "sometimes"), "no mode"),
        (("user", "set", "ann", "--cap", "3000000000"), "A cap is a number"),
        (("user", "set", "ann", "--language", "any", "--language", "en"), "Either `any`"),
        (("user", "set", "ann"), "Nothing to set"),
        (("user", "add", "ann", "--notify", "syslog://"), "not open to users"),
        (("library", "add", "ann", BRACKETS, "--prefer", "nowhere"), "no site or source of the series"),
        (("library", "read", "ann", "Twin Mountains", "5"), "does not follow"),
        (("library", "read", "ann", BRACKETS, "soon"), "no chapter"),
        (("library", "mode", "nobody", "off"), "no user"),
        (("dead-letters", "discard", "--kind", "nonsense"), "no kind"),
        (("dead-letters", "replay"), "numbers, or one of"),
        (("dead-letters", "discard", "99999999999999999999"), "9223372036854775807"),
        (("source", "replay", BRACKETS, " "), "Which chapters"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_x7_wrong_wishes_are_told_and_change_nothing(
    running: Running, command: tuple[str, ...], said: str
) -> None:
    outcome = running.fascicle(*command)
    assert outcome.code == 2
    assert said in outcome.said()


def test_c8_a_language_nobody_fetches_is_pointed_out(running: Running) -> None:
    outcome = running.fascicle("library", "add", "ann", BRACKETS, "--language", "fr")
    assert "No source of" in outcome.err
    running.fascicle("library", "add", "ann", BRACKETS, "--language", "any")


def test_c11_dead_letters_are_counted_by_code(running: Running) -> None:
    running.fascicle("dead-letters", "discard", "--all")
    assert running.json("dead-letters", "counts") == []
    assert running.fascicle("dead-letters", "discard", "--all").out.strip() == "0 letters are discarded"
