"""Exponential backoff with jitter (C9)."""

LONGEST_SECONDS = 300.0


def backoff_seconds(failures: int, base: float, spread: float) -> float:
    """The wait after the n-th failure: `base` doubling, capped, ±20 % (`spread` is -1 to 1)."""
    return min(LONGEST_SECONDS, base * 2.0 ** (failures - 1)) * (1 + 0.2 * spread)
