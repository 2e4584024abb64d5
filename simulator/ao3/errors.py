"""Error answers of the archive, and of the edge server in front of it."""

from simulator.answers import Answer
from simulator.ao3.layout import layout

HTML = "text/html; charset=utf-8"
SENTENCES = {
    403: "Access blocked.",
    404: "There is no page at this address.",
    429: "Too many requests.",
    445: "Searching is not possible right now.",
    502: "The archive cannot be reached right now.",
    503: "The page was responding too slowly.",
}


def status_answer(status: int, retry_after: str | None) -> Answer:
    """The error answer of the archive, or of the edge server in front of it, for a status."""
    headers = {"content-type": HTML}
    if retry_after is not None:
        headers["retry-after"] = retry_after
    if status == 429:
        return Answer(status, b"Retry later\n", {**headers, "content-type": "text/plain; charset=utf-8"})
    if status >= 520:
        return Answer(status, _edge_page(f"Error {status}", "The edge got no answer.").encode(), headers)
    return Answer(status, error_page(status).encode(), headers)


def error_page(status: int) -> str:
    sentence = SENTENCES.get(status, "Something went wrong.")
    body = f'<h2 class="heading">Error {status}</h2>\n<h3 class="heading">{sentence}</h3>'
    return layout(f"Error {status}", f"system errors error-{status}", body)


def maintenance_page() -> str:
    """For `Fault(status=503, body=maintenance_page())`."""
    body = '<h2 class="heading">Error 503</h2>\n<h3 class="heading">AO3 is down for maintenance.</h3>'
    return layout("Down for Maintenance", "system errors error-503-maintenance", body)


def challenge_page() -> str:
    """For `Fault(status=403, body=challenge_page())`, or 503: the edge server demands a browser."""
    return _edge_page(
        "Just a moment...",
        '<div id="challenge-error-text">Enable JavaScript and cookies to continue</div>',
        '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>',
    )


def _edge_page(title: str, *parts: str) -> str:
    body = "\n".join(parts)
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body>\n{body}\n</body></html>\n"
