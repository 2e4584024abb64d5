"""A fic's job in words: for Discord, the command line and messages (F2, F5, F7, F9)."""

from collections.abc import Callable, Sequence

from fascicle.domain.fics.fic import Fic, FicCode, FicView, JobState, WorkResult
from fascicle.domain.harmless_text import escape_markdown

Escape = Callable[[str], str]

MOST_WORKS = 20
_SITES = {
    "ao3": "AO3",
    "ffn": "FanFiction.net",
    "fictionpress": "FictionPress",
    "wattpad": "Wattpad",
    "royalroad": "Royal Road",
    "spacebattles": "SpaceBattles",
    "sufficientvelocity": "Sufficient Velocity",
}
_PLACES = (
    "Next", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth",
)  # fmt: skip

# Each says what happened and what to do next. `{site}` is the site's name.
_ERRORS = {
    FicCode.NOT_FOUND: "{site} has no such fic: it was deleted, or the address is not quite right. "
    "Check the link and submit it again.",
    FicCode.LOGIN_REQUIRED: "Only members of {site} can see this fic, and we read as a guest. "
    "If its author opens it to everyone, submit it again.",
    FicCode.UNREVEALED: "This fic is still a mystery: its challenge on {site} is not revealed yet. "
    "Submit it again once it is.",
    FicCode.ADULT_GATE: "{site} asked for our age and would not take our word for it. "
    "Please tell whoever runs this; the fic itself is fine.",
    FicCode.RATE_LIMITED: "{site} keeps asking us to slow down, so we stopped. "
    "Submit it again in an hour or so.",
    FicCode.TRANSIENT: "{site} had trouble answering, several times in a row. Submit it again later.",
    FicCode.BLOCKED: "{site} has blocked us for now. "
    "Please tell whoever runs this, and submit it again later.",
    FicCode.CHALLENGE: "{site} wants to see a browser before it answers. "
    "Please tell whoever runs this, and submit it again later.",
    FicCode.PARSER_BROKEN: "{site}'s page has a form that we cannot read. What we knew before is kept. "
    "Please tell whoever runs this.",
}


def describe(view: FicView, escape: Escape = str) -> str:
    """The state of a job, without its address.

    `escape` makes other people's words (titles, names, reasons) harmless.
    """
    match view.state:
        case JobState.DONE:
            return _done(view, escape)
        case JobState.SERIES_DONE:
            return _series_done(view, escape)
        case JobState.NOTP:
            return _refused(view, escape)
        case JobState.ERROR:
            return _failed(view, escape)
        case JobState.COOLDOWN:
            return _named(view, escape) + _cooling_down(view, escape) + _company(view)
        case JobState.PROCESSING:
            return _named(view, escape) + f"{site_name(view.site)} is being asked right now." + _company(view)
        case _ if view.round == 0:  # no job yet, but somebody has decided about the fic beforehand
            return _sentence(escape(view.waiting_for or "Nobody has asked for it yet"))
        case _:
            return _named(view, escape) + _waiting(view, escape) + _company(view)


def describe_on_discord(view: FicView) -> str:
    """The state of a job with its address; angle brackets make a link without a preview."""
    return f"{describe(view, escape_markdown)}\n<{view.url}>"


def describe_queue(views: Sequence[FicView], escape: Escape = str) -> str:
    if not views:
        return "The queue is empty: whatever you submit now is next."
    return "\n".join(
        f"{number}. {escape(view.title) + ' ' if view.title else ''}{view.url}: {_short(view, escape)}"
        for number, view in enumerate(views, start=1)
    )


def site_name(site: str) -> str:
    return _SITES.get(site, site)


def duration(seconds: float) -> str:
    """`45 s`, `1 min 20 s`, `2 h 5 min`: the longer, the less precise."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _waiting(view: FicView, escape: Escape) -> str:
    words = f"{_place(view.position)} in {site_name(view.site)}'s queue"
    if view.eta_seconds is not None:
        words += f", about {duration(view.eta_seconds)}"
    return _with_reason(words, view.waiting_for, escape)


def _cooling_down(view: FicView, escape: Escape) -> str:
    words = f"{site_name(view.site)} is left in peace for a while"
    if view.eta_seconds is not None:
        words += f", this one has its turn in about {duration(view.eta_seconds)}"
    return _with_reason(words, view.waiting_for, escape)


def _with_reason(words: str, reason: str | None, escape: Escape) -> str:
    return f"{words}: {_sentence(escape(reason))}" if reason else f"{words}."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _place(position: int | None) -> str:
    if position is None or position < 1:
        return "Waiting"
    return _PLACES[position - 1] if position <= len(_PLACES) else f"Number {position}"


def _named(view: FicView, escape: Escape) -> str:
    return f"{escape(view.title)}: " if view.title else ""


def _company(view: FicView) -> str:
    return f" {view.subscribers} people wait for it." if view.subscribers > 1 else ""


def _done(view: FicView, escape: Escape) -> str:
    fic = view.fic
    title = escape((fic.title if fic else view.title) or "This fic")
    lines = [f"Done: {title}"]
    if fic is not None:
        lines[0] += f" by {_list([escape(author) for author in fic.authors] or ['Anonymous'])}"
        if details := _details(fic, escape):
            lines[0] += f" ({', '.join(details)})"
    if view.override_by:
        lines.append("A moderator let it in.")
    return "\n".join(lines)


def _details(fic: Fic, escape: Escape) -> list[str]:
    found = []
    if fic.words is not None:
        found.append(f"{fic.words:,} words" if fic.words != 1 else "1 word")
    if fic.rating:
        found.append(escape(fic.rating))
    if fic.chapters is not None and (fic.chapters, fic.chapters_total) != (1, 1):
        found.append(f"chapter {fic.chapters} of {fic.chapters_total or '?'}")
    return found


def _refused(view: FicView, escape: Escape) -> str:
    lines = [f"{escape(view.title) if view.title else 'This fic'} does not belong here:"]
    lines += [f"- {escape(reason)}" for reason in view.reasons] or ["- the rules do not say why"]
    return "\n".join([*lines, "A moderator can let it in all the same (override)."])


def _failed(view: FicView, escape: Escape) -> str:
    try:
        words = _ERRORS[FicCode(view.error_code or "")].format(site=site_name(view.site))
    except ValueError:
        words = _sentence(escape(view.error or "Something went wrong")) + " Submit it again to try once more."
    return f"{_named(view, escape)}{words}"


def _series_done(view: FicView, escape: Escape) -> str:
    title = escape(view.title) if view.title else "This series"
    good = [work for work in view.works if work.state is JobState.DONE]
    share = f"{len(good)} of " if len(good) < len(view.works) else ""
    lines = [f"Done: {title}, {share}{len(view.works)} work{'' if len(view.works) == 1 else 's'}"]
    lines += [_work(work, escape) for work in view.works[:MOST_WORKS]]
    if len(view.works) > MOST_WORKS:
        lines.append(f"… and {len(view.works) - MOST_WORKS} more")
    if view.hidden_works:
        lines.append(_hidden(view))
    return "\n".join(lines)


def _hidden(view: FicView) -> str:
    works = "1 work is" if view.hidden_works == 1 else f"{view.hidden_works} works are"
    return f"{works} for members of {site_name(view.site)} only: as a guest we cannot read that."


def _work(work: WorkResult, escape: Escape) -> str:
    name = escape(work.title or (f"work {work.id}" if work.id else "a work"))
    part = f"{work.part}. " if work.part is not None else "- "
    reasons = "; ".join(escape(reason).rstrip(".") for reason in work.reasons)
    match work.state:
        case JobState.DONE:
            return f"{part}{name}"
        case JobState.NOTP:
            return f"{part}{name}: does not belong here{f' ({reasons})' if reasons else ''}"
        case JobState.ERROR:
            return f"{part}{name}: could not be read{f' ({reasons})' if reasons else ''}"
        case _:
            return f"{part}{name}: not yet"


def _short(view: FicView, escape: Escape) -> str:
    match view.state:
        case JobState.PROCESSING:
            return "being read"
        case JobState.COOLDOWN | JobState.PENDING:
            words = "waiting" if view.eta_seconds is None else f"in about {duration(view.eta_seconds)}"
            return f"{words}, {escape(view.waiting_for).rstrip('.')}" if view.waiting_for else words
        case JobState.DONE | JobState.SERIES_DONE:
            return "done"
        case JobState.NOTP:
            return "does not belong here"
        case _:
            return "could not be read"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def headline(view: FicView) -> str:
    """The title of a message about it."""
    what = {
        JobState.DONE: "Read",
        JobState.SERIES_DONE: "Read",
        JobState.NOTP: "Not for us",
        JobState.ERROR: "Could not be read",
    }
    return f"{what.get(view.state, 'Being read')}: {view.title or view.url}"
