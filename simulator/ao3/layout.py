"""The shared parts of the archive's pages: the frame, tags, bylines, numbers."""

from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from simulator.ao3.records import Work

# The archive's escapes for characters that have a meaning in addresses.
_IN_ADDRESSES = {"/": "*s*", "&": "*a*", ".": "*d*", "?": "*q*", "#": "*h*"}


def layout(title: str, main_class: str, body: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<title>{escape(title)} | Simulated Archive</title>
</head>
<body class="logged-out">
<div id="outer" class="wrapper">
<div id="header" class="region">
<h1 class="heading"><a href="/"><span>Simulated Archive</span></a></h1>
</div>
<div id="inner" class="wrapper">
<div id="main" class="{main_class} region" role="main">
<div class="flash"></div>
{body}
</div>
</div>
<div id="footer" role="contentinfo" class="region"><h3 class="landmark heading">Footer</h3></div>
</div>
</body>
</html>
"""


def tag(name: str) -> str:
    address = "".join(_IN_ADDRESSES.get(letter, letter) for letter in name)
    return f'<a class="tag" href="/tags/{quote(address, safe="*()")}/works">{escape(name)}</a>'


def authors(names: Iterable[str]) -> str:
    return ", ".join(
        f'<a rel="author" href="/users/{quote(name)}/pseuds/{quote(name)}">{escape(name)}</a>'
        for name in names
    )


def byline(work: Work) -> str:
    return "Anonymous" if work.anonymous else authors(work.authors)


def thousands(number: int) -> str:
    return f"{number:,}"
