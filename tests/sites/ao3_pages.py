"""Small pages in the archive's markup, with a story's life in them instead of a story."""

from collections.abc import Iterable

ANNA = '<a rel="author" href="/users/anna/pseuds/Anna%20B">Anna B (anna)</a>'


def page(main: str, classes: str = "works-show region", title: str = "A page [Archive of Our Own]") -> bytes:
    """Cloudflare's script is on every page, good ones too."""
    return f"""<!DOCTYPE html><html><head><title>{title}</title></head><body><div id="outer">
        <form action="/users/login?return_to=%2Fworks%2F999"><input name="user[login]"></form>
        <div id="main" class="{classes}" role="main"><div class="flash"></div>{main}</div></div>
        <script>a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script></body></html>""".encode()


def error_page(number: str, heading: str = "Something is wrong.") -> bytes:
    inner = f'<h2 class="heading">Error {number[:3]}</h2><h3 class="heading">{heading}</h3>'
    return page(inner, f"system errors error-{number} region", "Oh | Archive of Our Own")


def tags(kind: str, names: Iterable[str]) -> str:
    links = "".join(f'<li><a class="tag" href="/tags/x/works">{name}</a></li>' for name in names)
    return f'<dt class="{kind} tags">{kind}:</dt><dd class="{kind} tags"><ul class="commas">{links}</ul></dd>'


def work_page(
    number: str = "12",
    *,
    title: str = "The Tea House",
    byline: str = ANNA,
    chapters: str = "3/3",
    words: str = "12,345",
    fandoms: Iterable[str] = ("Tea (Anime)", "Rain &amp; Co"),
    ships: Iterable[str] = ("Aki/Ben", "Aki &amp; Chie", "past Ben/Dai"),
    series: str = "",
    status: str = '<dt class="status">Completed:</dt><dd class="status">2024-03-02</dd>',
    summary: str = "<p>Rain, and <i>tea</i>.</p>",
    notes: str = "",
    story: str = "<p>Once.</p>",
    kudos: str | None = None,
) -> bytes:
    return page(
        f"""<div class="work"><ul class="work navigation actions">
        <li class="chapter entire"><a href="/works/{number}?view_full_work=true">Entire Work</a></li>
        <li class="download"><a href="/downloads/{number}/T.epub?updated_at=1700000000">EPUB</a></li>
        </ul><div class="wrapper"><dl class="work meta group">
        {tags("rating", ["Mature"])}{tags("warning", ["No Archive Warnings Apply"])}
        {tags("category", ["F/M", "Gen"])}{tags("fandom", fandoms)}{tags("relationship", ships)}
        {tags("character", ["Aki", "Ben"])}{tags("freeform", ["Slow Burn", "&lt;3"])}
        <dt class="language">Language:</dt><dd class="language" lang="en">
        English </dd>{f'<dt class="series">Series:</dt><dd class="series">{series}</dd>' if series else ""}
        <dt class="stats">Stats:</dt><dd class="stats"><dl class="stats">
        <dt class="published">Published:</dt><dd class="published">2024-02-01</dd>{status}
        <dt class="words">Words:</dt><dd class="words">{words}</dd>
        <dt class="chapters">Chapters:</dt><dd class="chapters">{chapters}</dd></dl></dd></dl></div>
        <div id="workskin"><div class="preface group">
        <h2 class="title heading">
          {title}
        </h2><h3 class="byline heading">{byline}</h3>
        <div class="summary module"><h3 class="heading">Summary:</h3>
        <blockquote class="userstuff">{summary}</blockquote></div>{notes}</div>
        <div id="chapters">{story}</div></div></div>
        <form id="new_kudo"><input name="kudo[commentable_id]" value="{kudos or number}"></form>"""
    )


def place(part: int, number: str, title: str = "Rainy Days") -> str:
    return (
        f'<span class="series"><span class="position">Part {part} of '
        f'<a href="/series/{number}">{title}</a></span>'
        f'<a class="next" href="/works/{number}">Next Work →</a></span>'
    )


def blurb(
    number: str = "21",
    *,
    title: str = "First Flush",
    byline: str = ANNA,
    places: Iterable[tuple[int, str]] = ((1, "5"),),
    words: str = "1,000",
    chapters: str = '<a href="/works/21/chapters/3">2</a>/?',
    header: str = "",
    summary: str = "<p>Short.</p>",
) -> str:
    parts = "".join(
        f'<li>Part <strong>{n}</strong> of <a href="/series/{s}">S{s} 7</a></li>' for n, s in places
    )
    return f"""<li id="work_{number}" class="work blurb group" role="article"><div class="header module">
        <!-- updated_at=1700000001 --><h4 class="heading"><a href="/works/{number}">{title}</a> by
        <!-- do not cache --> {byline} {header}</h4>
        <h5 class="fandoms heading"><a class="tag">Tea (Anime)</a></h5><ul class="required-tags">
        <li><span class="rating"><span class="text">Teen And Up Audiences</span></span></li>
        <li><span class="category-multi category"><span class="text">F/M, M/M</span></span></li></ul>
        <p class="datetime">11 Apr 2021</p></div>
        <ul class="tags commas"><li class='warnings'><strong><a class="tag">Choose Not To</a></strong></li>
        <li class='relationships'><a class="tag">Aki/Ben</a></li>
        <li class='characters'><a class="tag">Aki</a></li>
        <li class='freeforms'><a class="tag">Fluff</a></li></ul>
        <blockquote class="userstuff summary">{summary}</blockquote><ul class="series">{parts}</ul>
        <dl class="stats"><dt class="language">Language:</dt><dd class="language">Deutsch</dd>
        <dt class="words">Words:</dt><dd class="words">{words}</dd>
        <dt class="chapters">Chapters:</dt><dd class="chapters">{chapters}</dd></dl></li>"""


def mystery(number: str) -> str:
    return f"""<li id="work_{number}" class="work blurb group"><div class="mystery header module">
        <h4 class="heading">Mystery Work</h4></div>
        <blockquote class="userstuff summary"><p>This will be revealed soon!</p></blockquote></li>"""


def paging(number: str, current: int, last: int) -> str:
    shown = "".join(
        f'<li><span class="current">{n}</span></li>'
        if n == current
        else f'<li><a href="/series/{number}?page={n}">{n}</a></li>'
        for n in sorted({1, current, last})
    )
    return f'<ol class="pagination actions"><li>← Previous</li>{shown}<li class="next">Next</li></ol>'


def series_page(
    *blurbs: str,
    number: str = "5",
    creator: str = ANNA,
    works: str = "2",
    complete: str = "No",
    described: str = "<dt>Description:</dt><dd><blockquote class='userstuff'><p>Days.</p></blockquote></dd>",
    pages: str = "",
    bookmarks: bool = True,
) -> bytes:
    link = (
        f'<dt class="bookmarks">B:</dt><dd class="bookmarks"><a href="/series/{number}/bookmarks">2</a></dd>'
    )
    return page(
        f"""<h2 class="heading">Rainy Days</h2><div class="wrapper"><dl class="series meta group">
        <dt>Creator:</dt><dd>{creator}</dd><dt>Series Begun:</dt><dd>2021-04-11</dd>{described}
        <dt>Notes:</dt><dd><blockquote class="userstuff"><p>Notes.</p></blockquote></dd>
        <dt class="stats">Stats:</dt><dd class="stats"><dl class="stats"><dt class="words">Words:</dt>
        <dd class="words">30,035</dd><dt class="works">Works:</dt><dd class="works">{works}</dd>
        <dt>Complete:</dt><dd>{complete}</dd>{link if bookmarks else ""}</dl></dd></dl></div>
        {pages}<ul class="series work index group">{"".join(blurbs)}</ul>{pages}""",
        "series-show region",
    )
