"""The queue of a fic site: how long until a job's turn (F2)."""

# Most works of AO3 have chapters, and their address leads to the first by a redirect, which counts.
REQUESTS_PER_JOB = 1.6


def eta_seconds(position: int, gate_wait: float, distance: float) -> float:
    """Roughly when the job at `position` (1: next) will have been read."""
    requests = (position - 1) * REQUESTS_PER_JOB + REQUESTS_PER_JOB - 1
    return max(0.0, gate_wait) + requests * distance
