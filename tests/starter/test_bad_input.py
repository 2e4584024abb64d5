"""Bad input (X7): a sentence or two that say what to do, 2 for wrong usage, 1 for a failure, nothing lost."""

import json
import os
import signal
from pathlib import Path

import pytest

from simulator.faults import Fault
from tests.starter.commandline import Outcome, child_pid
from tests.starter.conftest import BRACKETS, Desk, Running

MANGADEX = "https://mangadex.org/title/"
NOBODYS_PORT = "127.0.0.1:1"

WRONG_USAGE = [
    ("source add https://example.com/title/1", "Known: mangadex"),
    ("source add not-a-url", "should begin with https://"),
    ("source add ftp://mangadex.org/x", "should begin with https://"),
    ("source add http://127.0.0.1/title/1", "private address"),
    ("source add http://169.254.169.254/latest/meta-data", "private address"),
    ("source add http://[::1]/title/1", "private address"),
    (f"source add {MANGADEX}not-a-uuid", "Known: mangadex"),
    ("source add https://mangapark.net/title/1", "closed in January 2026"),
    ("source add https://u:p@mangadex.org/title/x", "take it out"),
    (f"source add {MANGADEX}x --series Nope", "Known"),
    (f"source add {MANGADEX}x --cadence TEPID", "'HOT', 'WARM', 'COLD'"),
    (f"source add {MANGADEX}x --language klingon", "codes such as en"),
    ("source add", "Missing argument"),
    ("source add a b", "See `fascicle source add --help`"),
    ("source", "Usage: fascicle source"),
    ("", "Usage: fascicle"),
    ("nonsense", "No such command"),
    ("--nonsense", "No such option"),
    ("source import nonsense.txt", "no file nonsense.txt"),
    ("source import .", "not a file"),
    ("source import x --user nobody", "fascicle user add"),
    ("source import x --format nonsense", "tachibk"),
    ("source import x --doubtful .", "exists already"),
    ("source show nonsense", "fascicle source list"),
    ("source show Twin", "use an id"),
    ("source pause nonsense", "fascicle source list"),
    ("source resume nonsense", "fascicle source list"),
    ("source poll nonsense", "fascicle source list"),
    ("source remove nonsense", "fascicle source list"),
    ("source priority nonsense HOT", "fascicle source list"),
    ("source priority Twin TEPID", "HOT, WARM, COLD or auto"),
    ("chapters nonsense", "fascicle source list"),
    ("chapters Twin", "use an id"),
    ("notifications nobody", "fascicle user add"),
    ("notifications ann --limit 0", "greater than or equal to 1"),
    ("follow nobody Twin", "fascicle user add"),
    ("follow ann nonsense", "fascicle source list"),
    ("unfollow ann nonsense", "fascicle source list"),
    ("user add ann --notify nonsense", "not an Apprise URL"),
    ("feed subscribe ftp://example.org/feed --user ann", "should begin with https://"),
    ("feed subscribe http://127.0.0.1/feed", "Missing option '--user'"),
    ("feed pause nonsense --user nobody", "fascicle user add"),
    ("feed pause nonsense --user ann", "fascicle feed list --user ann"),
    ("feed import nowhere.opml --user ann", "cannot be read"),
    ("inbox ann --state nonsense", "INBOX, BOOKMARKED, ARCHIVED or all"),
    ("inbox ann --feed nonsense", "fascicle feed list"),
    ("item show 99999999", "There is no item 99999999"),
    ("item archive 99999999", "Say --user NAME"),
    ("run show 99999999", "fascicle run list"),
    ("run replay 99999999", "fascicle run list"),
    ("dead-letters list --state nonsense", "open, replayed"),
    ("dead-letters show 99", "no dead letter 99"),
    ("dead-letters show 0", "greater than or equal to 1"),
    ("dead-letters show 99999999999999999999", "less than or equal to"),
    ("dead-letters show x", "valid integer"),
    ("dead-letters replay 99", "no dead letter 99"),
    ("dead-letters discard 99", "no dead letter 99"),
]

WRONG_SETTINGS = [
    ({"FASCICLE_OPS_PORT": "99999"}, "FASCICLE_OPS_PORT"),
    ({"FASCICLE_OPS_PORT": "x", "FASCICLE_LOG_LEVEL": "LOUD"}, "FASCICLE_LOG_LEVEL"),
    ({"FASCICLE_MANGADEX_URL": "ftp://x"}, "FASCICLE_MANGADEX_URL"),
    ({"DATABASE_URL": "mysql://u:geheim@x/y"}, "postgresql://user:password@host/name"),
]

FAILURES = [
    ({"DATABASE_URL": f"postgresql://u:geheim@{NOBODYS_PORT}/x"}, "source list", "DATABASE_URL"),
    ({"TEMPORAL_ADDRESS": NOBODYS_PORT}, "source show Rivers", "TEMPORAL_ADDRESS"),
    ({"TEMPORAL_ADDRESS": NOBODYS_PORT}, "doctor", "cannot be reached"),
    ({"TEMPORAL_NAMESPACE": "nonsense"}, "source poll Rivers", "setup --create-namespace"),
    ({"TEMPORAL_NAMESPACE": "nonsense"}, "schedule list", "setup --create-namespace"),
    ({"TEMPORAL_NAMESPACE": "nonsense"}, "doctor", "TEMPORAL_NAMESPACE"),
    ({"FASCICLE_PAYLOAD_KEY": "geheim"}, "doctor", "FASCICLE_PAYLOAD_KEYS"),
    (
        {"FASCICLE_ALLOW_HOSTS": "elsewhere", "FASCICLE_AO3_INTERVAL_SECONDS": "20"},
        f"source add {MANGADEX}{'0' * 8}-0000-4000-8000-{'0' * 12}",
        "ALLOW_HOSTS",
    ),
    ({}, f"source add {MANGADEX}{'0' * 8}-0000-4000-8000-{'0' * 12}", "404"),
]


def assert_told(outcome: Outcome, code: int, words: str) -> None:
    """The exit code and the words; and neither a traceback nor a secret nor a lecture."""
    assert outcome.code == code, outcome
    assert words in outcome.said()
    assert "Traceback" not in outcome.err
    assert "geheim" not in outcome.said()
    assert len(outcome.err.splitlines()) <= 4, outcome.err


@pytest.mark.parametrize(("command", "words"), WRONG_USAGE, ids=[command for command, _ in WRONG_USAGE])
def test_x7_wrong_usage_is_told_and_changes_nothing(running: Running, command: str, words: str) -> None:
    assert_told(running.fascicle(*command.split()), 2, words)


@pytest.mark.parametrize("command", ["item show x", "feed subscribe x.test --backfill -1", "nonsense"])
def test_x7_programs_are_told_of_wrong_usage_in_json(desk: Desk, command: str) -> None:
    outcome = desk.fascicle(*command.split(), "--json")
    assert outcome.code == 2
    told = json.loads(outcome.out)
    assert told["error_code"] == "wrong_usage"
    assert told["reason"] in outcome.err.replace("\n", " ")


@pytest.mark.parametrize(
    "command",
    [
        "source show nonsense",
        "chapters nonsense",
        "notifications nobody",
        "library list nobody",
        "post show nonsense",
    ],
)
def test_x7_programs_are_told_in_json_what_is_not_there(running: Running, command: str) -> None:
    outcome = running.fascicle(*command.split(), "--json")
    assert outcome.code == 2
    told = json.loads(outcome.out)
    assert (told["error_code"].startswith("unknown_"), bool(told["reason"])) == (True, True)


def test_x7_programs_are_told_in_json_that_nothing_runs(desk: Desk) -> None:
    outcome = desk.fascicle("feed", "list", "--json")
    assert outcome.code == 1
    assert "fascicle up" in json.loads(outcome.out)["reason"]


@pytest.mark.parametrize("arguments", [("source", "show"), ("chapters",), ("user", "add"), ("source", "add")])
def test_x7_an_empty_word_is_not_everything(running: Running, arguments: tuple[str, ...]) -> None:
    outcome = running.fascicle(*arguments, "")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Twin" not in outcome.err


@pytest.mark.parametrize("name", ["x" * 101, "a\nb", "a\x1b[31mb"])
def test_x7_a_name_is_something_that_can_be_shown(running: Running, name: str) -> None:
    assert_told(running.fascicle("user", "add", name), 2, "printable")


@pytest.mark.parametrize(("settings", "words"), WRONG_SETTINGS, ids=[words for _, words in WRONG_SETTINGS])
@pytest.mark.parametrize("command", ["status", "up", "config"])
def test_o8_wrong_settings_are_named(desk: Desk, command: str, settings: dict[str, str], words: str) -> None:
    assert_told(desk.fascicle(command, **settings), 2, words)


def test_o8_a_setting_that_is_none_is_noted(desk: Desk) -> None:
    outcome = desk.fascicle("config", "--json", FASCICLE_PAYLOAD_KEY="geheim")
    assert "FASCICLE_PAYLOAD_KEY" not in outcome.json()
    assert "is FASCICLE_PAYLOAD_KEYS meant" in outcome.err
    assert desk.fascicle("config").err == ""


@pytest.mark.parametrize("command", ["up", "config", "doctor"])
def test_o8_wrong_settings_of_temporals_own_are_named(desk: Desk, command: str) -> None:
    assert_told(desk.fascicle(command, TEMPORAL_PROFILE="nonsense"), 2, "Profile 'nonsense' not found")
    assert not (desk.data / "postgres").exists(), "nothing was started"


@pytest.mark.parametrize(("settings", "command", "words"), FAILURES)
def test_x7_what_cannot_be_reached_is_named(
    running: Running, settings: dict[str, str], command: str, words: str
) -> None:
    assert_told(running.fascicle(*command.split(), **settings), 1, words)


@pytest.mark.parametrize(
    "command",
    ["status", "source list", "source add x", "chapters x", "user list", "follow a b", "dead-letters list",
     "setup", "db upgrade"],
)  # fmt: skip
def test_x7_where_nothing_runs_it_says_how_to_start(desk: Desk, command: str) -> None:
    assert_told(desk.fascicle(*command.split()), 1, "fascicle up")


def test_x7_a_source_that_exists_is_said_so_and_returned(running: Running) -> None:
    before = running.json("source", "list")
    url = next(row["url"] for row in before if row["title"] == BRACKETS)
    outcome = running.fascicle("source", "add", url, "--cadence", "COLD")
    assert_told(outcome, 0, "was followed already")
    assert "not applied" in outcome.err
    again = running.json("source", "add", url)
    assert (again["created"], again["title"]) == (False, BRACKETS)
    assert len(running.json("source", "list")) == len(before)


@pytest.mark.parametrize(
    ("database", "words"), [("postgres", "fascicle db upgrade"), ("nonsense", "does not exist")]
)
def test_x7_a_database_that_is_not_ours_is_told_apart(running: Running, database: str, words: str) -> None:
    url = running.json("config")["DATABASE_URL"].replace("/fascicle?", f"/{database}?")
    assert_told(running.fascicle("source", "list", DATABASE_URL=url), 1, words)


def test_x7_a_site_that_is_down_is_told_and_nothing_is_added(running: Running) -> None:
    running.simulator.faults.add(Fault(path="/mangadex/manga/*", status=503))
    url = f"{MANGADEX}00000000-0000-4000-8000-000000000000"
    try:
        assert_told(running.fascicle("source", "add", url), 1, "503")
    finally:
        running.simulator.faults.clear()
    assert url not in {row["url"] for row in running.json("source", "list")}


def test_x7_a_source_is_shown_even_if_no_worker_answers(running: Running) -> None:
    worker = child_pid(running.desk.data, "worker")
    os.kill(worker, signal.SIGSTOP)
    try:
        outcome = running.fascicle("source", "show", "Twin Rivers")
    finally:
        os.kill(worker, signal.SIGCONT)
    assert_told(outcome, 0, "no worker answers")


def test_o6_a_second_up_on_the_same_folder_is_refused(running: Running) -> None:
    outcome = running.fascicle("up")
    assert outcome.code == 1
    assert f"in use by process {running.up.pid}" in outcome.said()
    assert running.fascicle("status").code == 0, "the first one is not disturbed"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: (data / "thesis.txt").touch(), "was not made by Fascicle"),
        (lambda data: (data.rmdir(), data.touch()), "is a file"),
        (lambda data: ((data / "fascicle.lock").touch(), (data / "postgres").mkdir()), "PG_VERSION"),
        (
            lambda data: ((data / "fascicle.lock").touch(), (data / "temporal.db").write_text("garbage")),
            "not an SQLite file",
        ),
    ],
    ids=["other things", "a file", "no cluster", "no Temporal"],
)
def test_x7_a_corrupt_data_folder_is_refused_and_left_as_it_is(desk: Desk, spoil: object, words: str) -> None:
    desk.data.mkdir()
    spoil(desk.data)  # type: ignore[operator]
    before = sorted(_contents(desk.data))
    assert_told(desk.fascicle("up"), 1, words)
    assert sorted(_contents(desk.data)) == before


def _contents(data: Path) -> list[tuple[str, int]]:
    # The lock file carries the owner's number.
    return [(str(p), p.stat().st_size) for p in data.rglob("*") if p.name != "fascicle.lock"]


WRONG_WORKERS = [
    (("--queues", "fetch,nonsense"), {}, "no queue nonsense; choose from fascicle, fetch, deliver, publish"),
    (("--queues", ","), {}, "choose from fascicle, fetch, deliver, publish"),
    ((), {"FASCICLE_DRAIN_SECONDS": "soon"}, "FASCICLE_DRAIN_SECONDS"),
    ((), {"DATABASE_URL": ""}, "DATABASE_URL"),
    ((), {"FASCICLE_OPS_HOST": "192.0.2.1"}, "FASCICLE_OPS_PORT"),
]


@pytest.mark.parametrize(("options", "settings", "words"), WRONG_WORKERS)
def test_x7_a_worker_that_cannot_start_says_why(
    desk: Desk, options: tuple[str, ...], settings: dict[str, str], words: str
) -> None:
    env = {**desk.env, "DATABASE_URL": f"postgresql://{NOBODYS_PORT}/fascicle", **settings}
    assert_told(Outcome(**desk.commands.run(*options, cwd=desk.folder, env=env, program="worker")), 2, words)


def test_x7_a_namespace_that_is_not_there_does_not_look_like_a_workflow_that_is_gone(
    running: Running,
) -> None:
    shown = running.fascicle("source", "show", "Rivers", "--json", TEMPORAL_NAMESPACE="nonsense")
    assert "setup --create-namespace" in shown.out
    assert "has no workflow" not in shown.out
