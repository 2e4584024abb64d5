"""Cadence, breaker, gate, listing and URL rules."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from fascicle.domain import gate
from fascicle.domain.errors import UsageError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.names import new_id
from fascicle.domain.series import breaker
from fascicle.domain.series.breaker import BreakerPolicy, BreakerState, Circuit
from fascicle.domain.series.cadence import Cadence, cadence_of, poll_delay
from fascicle.domain.series.chapter import ListedChapter, Upload, fold_uploads, is_news
from fascicle.domain.urls import parse_http_url

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("quiet_days", "expected"),
    [(0, Cadence.HOT), (6.9, Cadence.HOT), (7, Cadence.WARM), (29.9, Cadence.WARM), (30, Cadence.COLD)],
)
def test_c2_quiet_sources_cool_down(quiet_days: float, expected: Cadence) -> None:
    assert cadence_of(last_new_at=NOW - timedelta(days=quiet_days), now=NOW) is expected


def test_c2_a_pin_overrides_and_a_source_not_synced_yet_is_hot() -> None:
    assert cadence_of(last_new_at=None, now=NOW) is Cadence.HOT
    assert cadence_of(last_new_at=None, now=NOW, pinned=Cadence.COLD) is Cadence.COLD


@pytest.mark.parametrize(("spread", "minutes"), [(-1, 13.5), (0, 15), (1, 16.5), (5, 16.5)])
def test_c2_jitter_is_at_most_a_tenth(spread: float, minutes: float) -> None:
    intervals = {Cadence.HOT: timedelta(minutes=15)}
    assert poll_delay(Cadence.HOT, intervals, spread) == timedelta(minutes=minutes)


def test_c2_hot_work_goes_first() -> None:
    assert Cadence.HOT.priority_key < Cadence.WARM.priority_key < Cadence.COLD.priority_key


def test_c10_five_failures_open_and_one_success_closes() -> None:
    policy, state = BreakerPolicy(), BreakerState()
    for failures in range(1, 5):
        state = breaker.after_failure(state, policy, NOW)
        assert (state.circuit, state.failures) == (Circuit.CLOSED, failures)
    state = breaker.after_failure(state, policy, NOW)
    assert state == BreakerState(Circuit.OPEN, 5, NOW + timedelta(hours=24))
    assert breaker.at_poll(state, NOW).circuit is Circuit.OPEN
    probing = breaker.at_poll(state, NOW + timedelta(hours=24))
    assert probing.circuit is Circuit.HALF_OPEN
    assert breaker.after_failure(probing, policy, NOW).circuit is Circuit.OPEN


def test_p4_the_gate_backs_off() -> None:
    policy = GatePolicy(floor=3, ceiling=300)
    assert gate.after_failure(3, policy) == 6
    assert gate.after_failure(299, policy) == 300
    assert gate.after_failure(0, GatePolicy(floor=0)) == 0, "no floor, no gate"


def upload(upload_id: str, **values: object) -> Upload:
    return Upload.model_validate({"upload_id": upload_id, "url": f"https://x/{upload_id}", **values})


def test_c5_many_uploads_of_a_number_are_one_chapter_the_best_first() -> None:
    uploads = [
        upload("fr", language="fr", title="Un"),
        upload("ext", language="en", external=True),
        upload("gone", language="en", unavailable=True),
        upload("late", language="en", published_at=NOW),
        upload("early", language="en", published_at=NOW - timedelta(days=1)),
    ]
    [chapter] = fold_uploads(uploads, {u.upload_id: "1" for u in uploads}, ["en", "fr"])
    assert [u.upload_id for u in chapter.uploads] == ["early", "late", "ext", "fr", "gone"]
    assert chapter.title == "Un", "a gap is filled from another upload"
    assert chapter.published_at == NOW - timedelta(days=1)


def test_c7_news_is_what_came_after() -> None:
    def published(when: datetime | None) -> ListedChapter:
        return ListedChapter(key="1", uploads=[upload("a", published_at=when)])

    assert is_news(published(NOW), NOW)
    assert is_news(published(None), NOW)
    assert not is_news(published(NOW - timedelta(seconds=1)), NOW)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "mangadex.org/title/x", "ftp://mangadex.org", "https://", "https://a b/", "https://x:99999/",
     "https://user:pass@mangadex.org/", "javascript:alert(1)", "https://x/\x00", "https://" + "a" * 3000],
)  # fmt: skip
def test_x7_malformed_urls_are_refused_with_a_reason(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_http_url(text)
    assert refused.value.code == "invalid_url"


def test_ids_are_short_readable_and_do_not_repeat() -> None:
    ids = {new_id() for _ in range(10_000)}
    assert len(ids) == 10_000
    assert all(re.fullmatch("[2-9b-z]{12}", i) for i in ids)


@pytest.mark.parametrize(
    ("refusals", "minutes", "expected"),
    [
        (0, None, "closed"),
        (2, None, "closed"),
        (3, 5, "open"),
        (3, -1, "half_open"),
        (4, -1, "half_open"),
        (0, -1, "closed"),
    ],
)
def test_p4_a_gates_circuit_is_read_from_its_row(refusals: int, minutes: float | None, expected: str) -> None:
    until = None if minutes is None else NOW + timedelta(minutes=minutes)
    assert gate.circuit(refusals, until, NOW, GatePolicy(3, refusals=3)) == expected


@pytest.mark.parametrize(("floor", "lateness"), [(20, 5), (60, 5), (8, 2), (0.5, 1), (0, 1)])
def test_f3_the_lease_outlives_the_longest_request_of_one_who_set_out_late(
    floor: float, lateness: float
) -> None:
    policy = gate.one_at_a_time(GatePolicy(floor=floor), longest=30)
    assert policy.lateness == lateness
    assert policy.lease > lateness + 30
