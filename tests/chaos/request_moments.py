"""The moments of a request's life at which its worker is killed: before, during and after each stage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby, islice
from typing import Any, Literal

Shape = Literal["plain", "long", "broken", "short"]
"""`long` is read in parts, the first draft of `broken` is corrected, `short` is no article and fails."""

# The question that a moment is about: the shape's first one, or one that comes after another was answered.
STEPS: dict[Shape, str] = {"plain": "summary", "long": "notes:2", "broken": "correction", "short": ""}
WORDS: dict[Shape, int] = {"plain": 120, "long": 2400, "broken": 110, "short": 8}


@dataclass(frozen=True)
class Moment:
    """Where a request is held when its worker is killed: at a place in the database, or on the wire to an
    upstream, before or after what was asked there took effect."""

    at: str
    held: Literal["inside", "before", "after"]
    shape: Shape = "plain"
    paid_page: bool = False
    """Firecrawl brings the page."""
    unreported: bool = False
    """It goes on and does what it was about to do; only Temporal never hears of it."""

    @property
    def name(self) -> str:
        kind = "" if self.shape == "plain" else f", {self.shape}"
        page = ", scraped" if self.paid_page else ""
        return f"{self.at} {'done, unreported' if self.unreported else self.held}{kind}{page}"

    @property
    def place(self) -> str:
        return f"{self.at} {STEPS[self.shape]}" if self.at in ("open", "answered") else self.at

    @property
    def is_alone(self) -> bool:
        """What holds it, or breaks its draft, would strike others as well that come by."""
        return self.shape == "broken" or self.at in ("model", "scrape") or self.stops_all

    @property
    def stops_all(self) -> bool:
        """It is held with a lock in its hands that everybody needs who is to ask, or to begin."""
        return self.at in ("open", "running")

    def fault(self, request_id: str) -> dict[str, Any]:
        """Of the upstream, where it is held there."""
        paths = {
            "page": f"/press/articles/{request_id}",
            "scrape": "/firecrawl",
            "model": "/llm",
            "sink": f"/sink/{request_id}",
        }
        skip = 1 if self.at == "model" and self.shape in ("long", "broken") else 0
        return {"kind": "hold", "hold": self.held, "path": paths[self.at], "count": 1, "skip": skip}


def _asking(shape: Shape) -> list[Moment]:
    return [
        Moment("model", "before", shape),
        Moment("model", "after", shape),
        Moment("answered", "inside", shape),
    ]


def _unreported(*shapes: Shape, at: str, paid_page: bool = False) -> list[Moment]:
    return [Moment(at, "inside", shape, paid_page, unreported=True) for shape in shapes]


# `sending` and `sent` are a message's states; the others in the database are a request's states and stages,
# its article, its questions (`open`, `answered`) and the verdict on its draft.
_HELD = [
    Moment("page", "before"),
    Moment("page", "after"),
    Moment("article", "inside"),
    Moment("summarizing", "inside"),
    *_asking("plain"),
    *_asking("long"),
    Moment("validating", "inside"),
    Moment("verdict", "inside"),
    Moment("verdict", "inside", "broken"),
    *_asking("broken"),
    Moment("open", "inside", "broken"),
    Moment("persisting", "inside"),
    Moment("succeeded", "inside"),
    Moment("sending", "inside"),
    Moment("sink", "before"),
    Moment("sink", "after"),
    Moment("sent", "inside"),
    Moment("article", "inside", paid_page=True),
    Moment("scrape", "before", paid_page=True),
    Moment("scrape", "after", paid_page=True),
    Moment("open", "inside", paid_page=True),
]
_UNREPORTED = [
    *_unreported("plain", at="article"),
    *_unreported("plain", "long", "broken", at="answered"),
    *_unreported("plain", "broken", at="verdict"),
    *_unreported("plain", at="succeeded"),
    *_unreported("plain", at="sent"),
    *_unreported("plain", at="article", paid_page=True),
]
# Nothing beats there: a dead worker is noticed only after half a minute.
_SLOW = [
    Moment("running", "inside"),
    Moment("failed", "inside", "short"),
    *_unreported("plain", at="running"),
    *_unreported("short", at="failed"),
]
EACH_ONCE = len(_HELD) + len(_UNREPORTED)


def plan(requests: int) -> list[Moment]:
    """Every moment comes up before one comes up again."""
    return list(islice(cycle([*_HELD, *_UNREPORTED, *_SLOW]), requests))


def rounds(moments: Sequence[Moment]) -> Iterator[list[Moment]]:
    """Those that are struck before all are waited for; each moment at most once."""
    together: list[Moment] = []
    for moment in moments:
        if moment in together:
            yield together
            together = []
        together.append(moment)
    if together:
        yield together


def waves(moments: Sequence[Moment]) -> Iterator[list[Moment]]:
    """Those that one worker is killed for: it brings pages in one way, and is cut off or is not."""
    ordered = sorted(moments, key=lambda moment: (_kind(moment), moment.is_alone, moment.stops_all))
    for _, together in groupby(ordered, key=_kind):
        yield list(together)


def _kind(moment: Moment) -> tuple[bool, bool]:
    return moment.unreported, moment.paid_page
