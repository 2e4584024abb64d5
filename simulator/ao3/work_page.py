"""A work's pages: the work, the adult warning, the unrevealed work, the index of chapters."""

from collections.abc import Iterator, Sequence
from html import escape

from simulator.ao3.blurbs import blurb
from simulator.ao3.layout import authors, byline, layout, tag, thousands
from simulator.ao3.records import Ao3Series, Work

Places = Sequence[tuple[int, Ao3Series]]
FILLER = b"<p>And then the rain went on.</p>\n" * 2048
STORY_MARK = "<!--story-->"


def work_page(work: Work, places: Places, chapter: int | None) -> Iterator[bytes]:
    """The page in pieces, since the story may be long. `chapter` is the number of the shown chapter."""
    main_class = "works-show" if chapter is None else "chapters-show"
    body = "\n".join([_actions(work), "" if work.broken else _meta(work, places), _story(work, places)])
    head, _, foot = layout(work.title, main_class, f'<div class="work">\n{body}\n</div>').partition(
        STORY_MARK
    )
    yield head.encode()
    yield from _filler(work.padding)
    yield foot.encode()


def _filler(size: int) -> Iterator[bytes]:
    for _ in range(size // len(FILLER)):
        yield FILLER
    yield FILLER[: size % len(FILLER)]


def adult_gate(work: Work, places: Places) -> str:
    return layout(
        work.title,
        "works-show",
        f"""<h2 class="landmark heading">Adult Content Warning</h2>
<p class="caution">What follows may be for adults only. Go on if that is what you want to see.</p>
<ul class="actions" role="navigation">
<li><a href="/works/{work.id}?view_adult=true">Yes, Continue</a></li>
</ul>
<ol class="work index group">
{blurb(work, places)}
</ol>""",
    )


def unrevealed_page(work: Work) -> str:
    return layout(
        "Mystery Work",
        "works-show",
        """<h2 class="heading">Mystery Work</h2>
<p class="notice">This belongs to a challenge that is still going on, and will be revealed soon!</p>""",
    )


def navigate_page(work: Work) -> str:
    chapters = "\n".join(
        f'<li><a href="/works/{work.id}/chapters/{chapter_id}">{number}. Chapter {number}</a>'
        f' <span class="datetime">({work.published_on})</span></li>'
        for number, chapter_id in enumerate(work.chapter_ids(), start=1)
    )
    heading = f'Chapter Index for <a href="/works/{work.id}">{escape(work.title)}</a> by {byline(work)}'
    body = f'<h2 class="heading">{heading}</h2>\n<ol class="chapter index group">\n{chapters}\n</ol>'
    return layout("Chapter Index", "works-navigate", body)


def _actions(work: Work) -> str:
    address = f"/downloads/{work.id}/work.epub?updated_at={work.change_token}"
    index = f'<li class="chapter"><a href="/works/{work.id}/navigate">Full-Page Index</a></li>'
    return f"""<ul class="work navigation actions">
{index if work.is_chaptered else ""}
<li class="download"><ul class="expandable secondary"><li><a href="{address}">EPUB</a></li></ul></li>
</ul>"""


def _meta(work: Work, places: Places) -> str:
    groups = [
        ("rating", "Rating", [work.rating]),
        ("warning", "Archive Warning", work.warnings),
        ("category", "Category", work.categories),
        ("fandom", "Fandom", work.fandoms),
        ("relationship", "Relationship", work.relationships),
        ("character", "Character", work.characters),
        ("freeform", "Additional Tags", work.tags),
    ]
    tags = "\n".join(_tag_group(kind, heading, names) for kind, heading, names in groups if names)
    return f"""<div class="wrapper">
<dl class="work meta group">
{tags}
<dt class="language">Language:</dt>
<dd class="language" lang="en">
{escape(work.language)}
</dd>
{_series_group(places)}
<dt class="stats">Stats:</dt>
<dd class="stats">
{_stats(work)}
</dd>
</dl>
</div>"""


def _tag_group(kind: str, heading: str, names: Sequence[str]) -> str:
    items = "".join(f"<li>{tag(name)}</li>" for name in names)
    return f"""<dt class="{kind} tags">{heading}:</dt>
<dd class="{kind} tags">
<ul class="commas">
{items}
</ul>
</dd>"""


def _series_group(places: Places) -> str:
    if not places:
        return ""
    return f'<dt class="series">Series:</dt>\n<dd class="series">\n{", ".join(_positions(places))}\n</dd>'


def _positions(places: Places) -> list[str]:
    return [
        f'<span class="series"><span class="position">Part {part} of '
        f'<a href="/series/{series.id}">{escape(series.title)}</a></span></span>'
        for part, series in places
    ]


def _stats(work: Work) -> str:
    numbers = [("published", "Published", str(work.published_on))]
    if work.is_chaptered:
        done = work.chapters == work.chapters_total
        updated = work.updated_on or work.published_on
        numbers.append(("status", "Completed" if done else "Updated", str(updated)))
    numbers += [
        ("words", "Words", thousands(work.words)),
        ("chapters", "Chapters", work.chapter_count),
        ("hits", "Hits", "1,234"),
    ]
    items = "".join(
        f'<dt class="{kind}">{heading}:</dt><dd class="{kind}">{number}</dd>'
        for kind, heading, number in numbers
    )
    return f'<dl class="stats">{items}</dl>'


def _story(work: Work, places: Places) -> str:
    lock = '<img alt="(Restricted)" title="Restricted" src="/images/lockblue.png" />'
    return f"""<div id="workskin">
<div class="preface group">
<h2 class="title heading">
{escape(work.title)}{lock if work.restricted else ""}
</h2>
<h3 class="byline heading">
{byline(work)}
</h3>
{_summary(work.summary)}
{_associations(work)}
</div>
<div id="chapters" role="article"><div class="userstuff">{STORY_MARK}</div></div>
<div class="afterword preface group">
<div id="series" class="series module"><ul>{"".join(f"<li>{p}</li>" for p in _positions(places))}</ul></div>
</div>
</div>"""


def _summary(summary: str | None) -> str:
    if summary is None:
        return ""
    return f"""<div class="summary module">
<h3 class="heading">Summary:</h3>
<blockquote class="userstuff">
{summary}
</blockquote>
</div>"""


def _associations(work: Work) -> str:
    lines = [f"A translation by {authors([name])}." for name in work.translators]
    lines += [f'Inspired by <a href="/works/1">Something</a> by {authors([n])}.' for n in work.inspired_by]
    if not lines:
        return ""
    items = "".join(f"<li>{line}</li>" for line in lines)
    return f'<div class="notes module"><ul class="associations">{items}</ul></div>'
