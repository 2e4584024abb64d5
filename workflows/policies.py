"""Retry policies by name. The delay between attempts comes from the activity, with jitter."""

from datetime import timedelta

from temporalio.common import RetryPolicy

_FIRST = timedelta(seconds=5)
_LONGEST = timedelta(minutes=5)

POLL = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=3)
# Idle looks name their own delay, so this one counts only for a worker that was shut down in the middle. A
# worker that is lost ends the watch: the workflow counts that against the poll.
WATCH = RetryPolicy(
    initial_interval=_FIRST,
    backoff_coefficient=1,
    non_retryable_error_types=["TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose"],
)
# What is left of a poll's attempts after a watch failed.
POLL_AGAIN = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=2)
ONCE = RetryPolicy(maximum_attempts=1)
# Half-open is one probe, not three.
PROBE = ONCE
INGEST = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=3)
ENRICH = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=3)
NOTIFY = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=5)
# Keeping the books must succeed in the end, however long the database is away.
BOOKS = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=1))
