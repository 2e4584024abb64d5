"""A work's entry in a list."""

from collections.abc import Iterable, Sequence
from html import escape

from simulator.ao3.layout import byline, tag, thousands
from simulator.ao3.records import Ao3Series, Work

Places = Sequence[tuple[int, Ao3Series]]
RATING_CLASSES = {
    "General Audiences": "rating-general-audience",
    "Teen And Up Audiences": "rating-teen",
    "Mature": "rating-mature",
    "Explicit": "rating-explicit",
}


def blurb(work: Work, places: Places) -> str:
    if work.unrevealed:
        return _mystery(work)
    return f"""<li id="work_{work.id}" class="work blurb group work-{work.id}" role="article">
<div class="header module">
<!-- updated_at={work.change_token} -->
{"" if work.broken_blurb else _heading(work)}
<ul class="required-tags">
{_symbols(work)}
</ul>
<p class="datetime">{work.updated_on or work.published_on:%d %b %Y}</p>
</div>
<h6 class="landmark heading">Tags</h6>
<ul class="tags commas">
{_tags(work)}
</ul>
{_summary(work.summary)}
{_series(places)}
{"" if work.broken_blurb else _stats(work)}
</li>"""


def _mystery(work: Work) -> str:
    return f"""<li id="work_{work.id}" class="work blurb group" role="article">
<div class="mystery header module">
<h4 class="heading">Mystery Work</h4>
</div>
<blockquote class="userstuff summary">
<p>This belongs to a challenge that is still going on, and will be revealed soon!</p>
</blockquote>
</li>"""


def _heading(work: Work) -> str:
    lock = '<img alt="(Restricted)" title="Restricted" src="/images/lockblue.png" />'
    return f"""<h4 class="heading">
<a href="/works/{work.id}">{escape(work.title)}</a>
by
<!-- do not cache -->
{byline(work)}
{lock if work.restricted else ""}
</h4>
<h5 class="fandoms heading">
<span class="landmark">Fandoms:</span>
{", ".join(map(tag, work.fandoms))}
&nbsp;
</h5>"""


def _symbols(work: Work) -> str:
    whole = work.chapters == work.chapters_total
    symbols = [
        (f"{RATING_CLASSES.get(work.rating, 'rating-notrated')} rating", work.rating),
        ("warning-no warnings", ", ".join(work.warnings)),
        ("category-multi category", ", ".join(work.categories) or "No category"),
        ("complete-yes iswip", "Complete Work") if whole else ("complete-no iswip", "Work in Progress"),
    ]
    return "\n".join(
        f'<li><a class="help symbol question modal" href="/help/symbols-key.html"><span class="{kind}" '
        f'title="{escape(text)}"><span class="text">{escape(text)}</span></span></a></li>'
        for kind, text in symbols
    )


def _tags(work: Work) -> str:
    return "".join(
        [
            *(f'<li class="warnings"><strong>{tag(name)}</strong></li>' for name in work.warnings),
            *_items("relationships", work.relationships),
            *_items("characters", work.characters),
            *_items("freeforms", work.tags),
        ]
    )


def _items(kind: str, names: Iterable[str]) -> list[str]:
    return [f'<li class="{kind}">{tag(name)}</li>' for name in names]


def _summary(summary: str | None) -> str:
    if summary is None:
        return ""
    heading = '<h6 class="landmark heading">Summary</h6>'
    return f'{heading}\n<blockquote class="userstuff summary">\n{summary}\n</blockquote>'


def _series(places: Places) -> str:
    if not places:
        return ""
    items = "".join(
        f"<li>\nPart <strong>{part}</strong> of "
        f'<a href="/series/{series.id}">{escape(series.title)}</a>\n</li>'
        for part, series in places
    )
    return f'<h6 class="landmark heading">Series</h6>\n<ul class="series">{items}</ul>'


def _stats(work: Work) -> str:
    return f"""<dl class="stats">
<dt class="language">Language:</dt>
<dd class="language" lang="en">{escape(work.language)}</dd>
<dt class="words">Words:</dt>
<dd class="words">{thousands(work.words)}</dd>
<dt class="chapters">Chapters:</dt>
<dd class="chapters">{_chapters(work)}</dd>
<dt class="hits">Hits:</dt>
<dd class="hits">1,234</dd>
</dl>"""


def _chapters(work: Work) -> str:
    if work.chapters == 1:
        return work.chapter_count
    newest = work.chapter_ids()[-1]
    return f'<a href="/works/{work.id}/chapters/{newest}">{work.chapters}</a>/{work.chapters_total or "?"}'
