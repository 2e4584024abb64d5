"""What `bench.scale` says of a gate, of logs that were made by hand."""

import pytest

from bench.distances import watch_gate

EVEN = [0.0, 0.2, 0.4, 0.6]
PAGES = ["/a", "/b", "/c", "/d"]


def _requests(*instants: float, pages: list[str] = PAGES) -> list[tuple[float, str]]:
    return list(zip(instants, pages, strict=True))


def test_a_gate_that_was_kept_has_no_faults() -> None:
    watch = watch_gate(0.2, EVEN, _requests(0.01, 0.24, 0.41, 0.61), wanted=4)

    assert watch.faults == []
    assert watch.slots.closest == pytest.approx(0.2)
    assert watch.requests.closest == pytest.approx(0.17)
    assert watch.requests.nearer_than(0.9) == 1  # from 0.24 to 0.41; told, not judged
    assert watch.requests.mean == pytest.approx(0.2)
    assert watch.requests.used == pytest.approx(1.0)


def test_logs_need_not_be_in_order() -> None:
    watch = watch_gate(0.2, EVEN[::-1], _requests(0.61, 0.01, 0.41, 0.21), wanted=4)

    assert watch.faults == []
    assert watch.requests.closest == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("slots", "requests", "fault"),
    [
        ([0.0, 0.199, 0.4, 0.6], _requests(*EVEN), "1 slots nearer"),
        (EVEN[:3], _requests(*EVEN), "1 requests without a slot"),
        (EVEN, _requests(*EVEN[:3], pages=PAGES[:3]), "1 pages never asked for"),
        ([*EVEN, 0.8], _requests(*EVEN, 0.8, pages=[*PAGES, "/a"]), "1 pages asked for twice"),
    ],
    ids=["too-early", "no-slot", "missing", "twice"],
)
def test_what_a_gate_must_never_do(slots: list[float], requests: list[tuple[float, str]], fault: str) -> None:
    [found] = watch_gate(0.2, slots, requests, wanted=4).faults

    assert found.startswith(fault)


def test_what_a_killed_worker_asked_for_may_be_asked_for_again() -> None:
    again = _requests(*EVEN, 0.8, pages=[*PAGES, "/a"])

    watch = watch_gate(0.2, [*EVEN, 0.8], again, wanted=4, killed=True)

    assert (watch.twice, watch.faults) == (1, [])


def test_a_slot_is_not_too_early_by_the_clocks_last_digit() -> None:
    watch = watch_gate(0.2, [0.0, 0.199999, 0.4], _requests(0.0, 0.2, 0.4, pages=PAGES[:3]), wanted=3)

    assert watch.faults == []
