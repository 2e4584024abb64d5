"""The application's metrics, on the SDK's meter, so that one endpoint shows both."""

from temporalio import activity


def count_poll(site: str, outcome: str) -> None:
    _count("fascicle_polls", 1, {"site": site, "outcome": outcome})


def count_ingested(site: str, chapters: int) -> None:
    if chapters:
        _count("fascicle_chapters_ingested", chapters, {"site": site})


def count_notifications(outcome: str, count: int = 1) -> None:
    if count:
        _count("fascicle_notifications", count, {"outcome": outcome})


def _count(name: str, value: int, labels: dict[str, str]) -> None:
    meter = activity.metric_meter()
    # Activity metrics carry the queue and type by default; ours are about the domain, not the plumbing.
    meter.create_counter(name).add(value, labels)
