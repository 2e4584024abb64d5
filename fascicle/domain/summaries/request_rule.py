"""Settings of requests (R3), apart from the summaries themselves, whose word lists take long to load."""

from dataclasses import dataclass

# A text with fewer words is no article.
MIN_WORDS = 40


@dataclass(frozen=True)
class RetryRule:
    """How often a stage is tried, and how long it waits in between (R3)."""

    attempts: int
    base_seconds: float
    max_seconds: float
    jitter: float

    def delay(self, failures: int, draw: float) -> float:
        """Seconds after the n-th failure; `draw` is -1 to 1."""
        rest = min(self.max_seconds, self.base_seconds * 2.0 ** (failures - 1))
        return rest * (1 + self.jitter * draw)
