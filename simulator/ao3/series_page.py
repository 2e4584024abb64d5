"""The pages of a series: its description, and twenty works per page."""

from collections.abc import Sequence
from html import escape
from math import ceil

from simulator.ao3.archive import Archive
from simulator.ao3.blurbs import blurb
from simulator.ao3.layout import authors, layout, thousands
from simulator.ao3.records import Ao3Series, Work

PER_PAGE = 20


def series_page(archive: Archive, series: Ao3Series, page: int) -> str:
    """The page for a guest: restricted works are counted, not listed. Hold the archive's lock."""
    members = [work for _, work in archive.members(series)]
    listed = [work for work in members if not work.restricted]
    shown = listed[(page - 1) * PER_PAGE : page * PER_PAGE]
    blurbs = "\n".join(blurb(work, archive.series_of(work.id)) for work in shown)
    pagination = _pagination(series.id, page, ceil(len(listed) / PER_PAGE))
    return layout(
        series.title,
        "series-show",
        f"""<h2 class="heading">
{escape(series.title)}
</h2>
{_meta(series, members)}
<h3 class="landmark heading">Listing Series</h3>
{pagination}
<ul class="series work index group">
{blurbs}
</ul>
{pagination}""",
    )


def _meta(series: Ao3Series, members: Sequence[Work]) -> str:
    description = (
        f'<dt>Description:</dt>\n<dd><blockquote class="userstuff">{series.summary}</blockquote></dd>'
    )
    days = sorted(work.published_on for work in members)
    dates = f"<dt>Series Begun:</dt>\n<dd>{days[0]}</dd>\n<dt>Series Updated:</dt>\n<dd>{days[-1]}</dd>"
    return f"""<div class="wrapper">
<dl class="series meta group">
<dt>Creator:</dt>
<dd>{authors(series.authors)}</dd>
{dates if days else ""}
{description if series.summary else ""}
<dt class="stats">Stats:</dt>
<dd class="stats">
<dl class="stats">
<dt class="words">Words:</dt>
<dd class="words">{thousands(sum(work.words for work in members))}</dd>
<dt class="works">Works:</dt>
<dd class="works">{len(members)}</dd>
<dt>Complete:</dt>
<dd>{"Yes" if series.complete else "No"}</dd>
</dl>
</dd>
</dl>
</div>"""


def _pagination(series_id: int, page: int, pages: int) -> str:
    if pages < 2:
        return ""
    numbers = "\n".join(
        f'<li><span class="current">{number}</span></li>'
        if number == page
        else f"<li>{_link(series_id, number, str(number))}</li>"
        for number in range(1, pages + 1)
    )
    before = _link(series_id, page - 1, "← Previous") if page > 1 else _disabled("← Previous")
    after = _link(series_id, page + 1, "Next →") if page < pages else _disabled("Next →")
    return f"""<h4 class="landmark heading">Pages Navigation</h4>
<ol class="pagination actions" role="navigation" title="pagination">
<li class="previous" title="previous">{before}</li>
{numbers}
<li class="next" title="next">{after}</li>
</ol>"""


def _link(series_id: int, page: int, text: str) -> str:
    return f'<a href="/series/{series_id}?page={page}">{text}</a>'


def _disabled(text: str) -> str:
    return f'<span class="disabled">{text}</span>'
