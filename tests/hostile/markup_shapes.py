"""HTML that parsers take badly, made by code: small texts that grow, deep ones, endless ones."""

from html import escape


def formatting(k: int, m: int) -> str:
    """The parser repeats each of `k` unclosed elements in each of `m` paragraphs: k·m elements."""
    opened = "".join(f"<b id={n}>" for n in range(k))
    return f"<p>{opened}</p>{'<p>x</p>' * m}"


def long_link(length: int, m: int) -> str:
    """One unclosed link, whose address is repeated in each paragraph."""
    return f'<p><a href="https://e.example/{"x" * length}">a</p>{"<p>x</p>" * m}'


SHAPES: dict[str, str] = {
    "formatting": formatting(9_000, 12_000),
    "formatting, less of it": formatting(2_000, 3_000),
    "formatting, hardly any": formatting(8, 1_000),
    "formatting that is closed in the wrong order": "<i id=1>" * 3
    + "".join(f"<b id={n}>" for n in range(3_000))
    + "x</i>" * 9_000,
    "a long link": long_link(3_000, 2_000),
    "deep": "<div>" * 12_000,
    "deep, but not beyond the guard": "<div>" * 1_000,
    "deep lists": "<ul><li>" * 11_000,
    "deep quotes": "<blockquote><p>" * 11_000,
    "deep tables": "<table><tr><td>" * 11_000,
    "a huge table": "<table>" + "<tr><td>1<td>2<td>3" * 500 + "</table>",
    "attributes": f"<p {' '.join(f'a{n}=1' for n in range(300_000))}>x</p>",
    "unclosed": "<p>x<li>y<b>z" * 1_000,
    "a tag without an end": "<a " + "x" * 100_000,
    "comments": "<!--" * 10_000,
    "entities": "&" * 10_000 + "&amp;" * 5_000,
    "links": '<a href="/feed">feed</a>' * 500,
    "foreign": "<svg><foreignObject><math><mi>" * 500,
    "select": "<select><option>" * 1_000,
    "scripts": '<script type="application/ld+json">' + "[" * 100_000 + "</script>",
    "NUL": "<p>\0\0x\0</p>" * 500,
}


def feed_of(*entries: str) -> bytes:
    """A feed whose entries have that HTML."""
    items = "".join(
        f"<item><guid>{number}</guid><description>{escape(html)}</description></item>"
        for number, html in enumerate(entries)
    )
    return f"<rss version='2.0'><channel><title>Feed</title>{items}</channel></rss>".encode()
