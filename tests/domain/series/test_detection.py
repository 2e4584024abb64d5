"""How long an instalment was out before we had it."""

from datetime import UTC, datetime, timedelta

import pytest

from fascicle.domain.series.detection import detection_delay

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
FOLLOWED = NOW - timedelta(days=3)


@pytest.mark.parametrize(
    ("published_at", "followed_since", "expected"),
    [
        (NOW - timedelta(minutes=7), FOLLOWED, timedelta(minutes=7)),
        (NOW - timedelta(days=2), FOLLOWED, timedelta(days=2)),
        (NOW + timedelta(minutes=1), FOLLOWED, timedelta(0)),
        (FOLLOWED - timedelta(seconds=1), FOLLOWED, None),
        (NOW, None, None),
        (None, FOLLOWED, None),
    ],
    ids=["new", "late", "their clock is ahead", "history that shows late", "the first sync", "no date"],
)
def test_o1_only_what_came_out_while_we_looked_has_a_delay(
    published_at: datetime | None, followed_since: datetime | None, expected: timedelta | None
) -> None:
    assert detection_delay(published_at, followed_since=followed_since, now=NOW) == expected
