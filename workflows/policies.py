"""Retry policies by name. The delay between attempts comes from the activity, with jitter."""

from datetime import timedelta

from temporalio.common import RetryPolicy

_FIRST = timedelta(seconds=5)
_LONGEST = timedelta(minutes=5)

POLL = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=3)
# Idle looks set their own delay, so this interval applies only when a worker shuts down during a look. A lost
# worker ends the watch, and the workflow counts that as a failed attempt of the poll.
WATCH = RetryPolicy(
    initial_interval=_FIRST,
    backoff_coefficient=1,
    non_retryable_error_types=["TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose"],
)
# The attempts that remain of a poll after a watch failed.
POLL_AGAIN = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=2)
ONCE = RetryPolicy(maximum_attempts=1)
# A half-open circuit gets one probe, not three.
PROBE = ONCE
INGEST = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=3)
ENRICH = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=3)
NOTIFY = RetryPolicy(initial_interval=_FIRST, maximum_interval=_LONGEST, maximum_attempts=5)
# Writing to the database must succeed in the end, however long the database is down.
BOOKS = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=1))
