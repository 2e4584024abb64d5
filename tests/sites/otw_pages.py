"""Small pages of our own in the form of the archive software that SquidgeWorld runs: a work takes two."""

WORK = "https://squidgeworld.org/works/4711"
NAVIGATE_PAGE = f"{WORK}/navigate?view_adult=true"
WORK_PAGE = f"{WORK}?view_adult=true"

NAVIGATE = b"""<!DOCTYPE html><html><body>
<h2><a href="/works/4711">Salt &amp; Feathers</a> by
<a rel="author" href="/users/wren/pseuds/wren">wren</a></h2>
<ol>
<li><a href="/works/4711/chapters/1">1. Salt</a> <span class="datetime">(2025-01-02)</span></li>
<li><a href="/works/4711/chapters/2">2. Feathers</a> <span class="datetime">(2025-02-03)</span></li>
</ol></body></html>"""

META = b"""<!DOCTYPE html><html><body>
<dl class="work meta group">
<dt>Rating:</dt><dd class="rating tags"><a class="tag">Teen And Up Audiences</a></dd>
<dt>Warning:</dt><dd class="warning tags"><a class="tag">No Archive Warnings Apply</a></dd>
<dt>Fandom:</dt><dd class="fandom tags"><a class="tag">Supernatural (TV 2005)</a></dd>
<dt>Relationships:</dt><dd class="relationship tags">
<a class="tag">Sam Winchester/Jessica Moore</a><a class="tag">Castiel/Dean Winchester</a>
<a class="tag">Castiel &amp; Sam Winchester</a></dd>
<dt>Characters:</dt><dd class="character tags">
<a class="tag">Dean Winchester</a><a class="tag">Castiel</a></dd>
<dt>Tags:</dt><dd class="freeform tags"><a class="tag">Slow Burn &lt;3</a></dd>
<dt>Language:</dt><dd class="language">English</dd>
<dt>Series:</dt><dd class="series"><span>Part 2 of <a href="/series/99">Tides</a></span></dd>
<dt>Stats:</dt><dd class="stats"><dl class="stats">
<dt>Published:</dt><dd>2025-01-02</dd><dt>Updated:</dt><dd>2025-02-03</dd>
<dt>Words:</dt><dd>12,345</dd><dt>Chapters:</dt><dd>2/5</dd></dl></dd>
</dl>
<h3 class="byline heading"><a rel="author" href="/users/wren/pseuds/wren">wren</a></h3>
<blockquote class="userstuff"><p>The tide <b onclick="x()">comes</b> in.</p><script>x()</script></blockquote>
</body></html>"""

ADULT_GATE = (
    b'<!DOCTYPE html><html><body><p class="caution">This work could have adult content. If you proceed '
    b'you have agreed that you are willing to see such content.</p><a href="%s">Proceed</a></body></html>'
)
