"""The views of requests and summaries, for people and for programs."""

from typing import Any

from fascicle.domain.feeds.item_words import shortened
from fascicle.domain.summaries.request import Received, Reception, RequestStatus, RequestView
from fascicle.domain.urls import address_title
from starter.output import ago, plain, print_json, print_line, print_pairs, print_prose

COLUMNS = ("id", "status", "stage", "title", "created_at", "cost", "why")
_LONGEST_WHY = 80
_WORDS = {
    Reception.STARTED: "Asked for",
    Reception.JOINED: "It is being done already; you wait with the others",
    Reception.RETRIED: "It failed before and is tried again; what was done is kept",
    Reception.LOCK_HELD: "It is being worked on (lock_held): no second start, but it looks again at once",
}


def request_facts(view: RequestView) -> dict[str, Any]:
    """For programs: the summary's fields together with those about its origin."""
    facts = view.model_dump(mode="json")
    if view.summary is not None:
        source = view.summary.model_dump(mode="json", exclude={"summary", "request_id", "url"})
        facts["summary"] = view.summary.summary.model_dump(mode="json") | source
    return {**facts, "finished": view.finished}


def request_row(view: RequestView) -> dict[str, Any]:
    """One line of a table; `request show` prints everything."""
    return {
        "id": view.id,
        "status": view.status.value,
        "stage": _stage(view),
        "title": view.title or address_title(view.url),
        "created_at": view.created_at,
        "cost": _cost(view),
        "why": shortened(_reason(view), _LONGEST_WHY),
    }


def show_request(view: RequestView) -> None:
    """Print one line per fact; unknown ones are left out."""
    facts = {
        "id": view.id,
        "url": view.url,
        "title": view.title,
        "status": view.status.value,
        "stage": _stage(view),
        "in line": view.position,
        "waits for": view.waiting_for,
        "not before": ago(view.not_before) if view.not_before else None,
        **_error_facts(view),
        "read by": view.extractor,
        "questions": view.calls,
        "tokens": view.tokens,
        "cost": _cost(view),
        "item": view.item_id,
        "asked": ago(view.created_at),
        "took": _duration(view),
        "correlation id": view.correlation_id,
        "workflow id": view.workflow_id,
    }
    print_pairs({name: value for name, value in facts.items() if value not in (None, "", 0)})


def show_summary(view: RequestView) -> None:
    if view.summary is None:
        return
    summary = view.summary.summary
    print_prose(f"\n[bold]{plain(view.summary.title)}[/]")
    print_line(f"[dim]{plain(view.url)}[/]")
    print_prose(
        f"[dim]{plain(summary.language)}, {summary.reading_time_minutes} min. {plain(view.summary.label)}[/]"
    )
    print_prose(f"\n[bold]{plain(summary.tldr)}[/]\n")
    print_prose(plain(summary.summary_1000) + "\n")
    for idea in summary.key_ideas:
        print_prose(f"- {plain(idea)}")
    print_prose(f"\n[dim]{plain(', '.join(f'#{tag}' for tag in summary.topic_tags))}[/]")
    if summary.entities:
        print_prose(f"[dim]{plain(', '.join(entity.name for entity in summary.entities))}[/]")


def tell_of(received: Received, *, waited: float = 0, as_json: bool) -> None:
    """Print the result of a request: the summary, the error, or where to look for it later."""
    view = received.view
    if as_json:
        print_json(request_facts(view) | {"reception": received.reception})
    elif view.summary is not None:
        if received.reception is Reception.CACHED:
            when = ago(view.summary.created_at)
            print_line(
                f"[dim]It was summarised {when}, as request {plain(view.id)}; --refresh does it anew.[/]"
            )
        show_summary(view)
    elif view.finished:
        print_line(f"[red]{view.status}[/] request {plain(view.id)}: {plain(_error(view))}")
        print_line(f"To try again: `fascicle request retry {plain(view.id)}`")
    elif waited:
        print_line(f"Not done within {waited:g} s: request {plain(view.id)}, {plain(_where(view))}.")
        print_line(f"It goes on by itself: `fascicle request show {plain(view.id)}`")
    else:
        print_line(f"{_WORDS[received.reception]}: request {plain(view.id)}, {plain(_where(view))}.")
        print_line(
            f"See `fascicle request show {plain(view.id)}`; `summarize --wait` stays until it is done."
        )


def _stage(view: RequestView) -> str | None:
    if view.stage is None:
        return None
    return view.stage.value if view.finished else f"{view.stage} {view.progress}%"


def _where(view: RequestView) -> str:
    if view.status is RequestStatus.PENDING:
        return f"waits: {view.waiting_for}" if view.waiting_for else f"number {view.position} in line"
    return _stage(view) or view.status


def _reason(view: RequestView) -> str:
    if view.error is not None:
        return str(view.error["error_code"]) if view.finished else f"tried again after {_error(view)}"
    return view.waiting_for or ""


def _error(view: RequestView) -> str:
    return f"{view.error['error_code']}: {view.error['message']}" if view.error else ""


def _error_facts(view: RequestView) -> dict[str, Any]:
    """The parts of the error that help a person; programs get all of it."""
    if view.error is None:
        return {"failed attempts": view.attempts if not view.finished else None}
    facts: dict[str, Any] = {
        "error": _error(view),
        "HTTP status": view.error.get("http_status"),
        "failed attempts": view.attempts,
    }
    return facts | ({"to try again": f"fascicle request retry {view.id}"} if view.finished else {})


def _cost(view: RequestView) -> str | None:
    return money(view.cost) if view.tokens else None


def money(cost: float) -> str:
    """With six decimals, as a summary costs a fraction of a cent."""
    return f"{cost:.6f}".rstrip("0").rstrip(".")


def _duration(view: RequestView) -> str | None:
    if view.started_at is None or view.finished_at is None:
        return None
    return f"{(view.finished_at - view.started_at).total_seconds():.1f} s"
