"""Lines of a page's main text that are not its author's: invitations, dates, links to other articles."""

import re

from fascicle.domain.article import length_in_words
from fascicle.sites.articles.markup import Links, key_of

# Dates, bylines and the like are within so many lines of the beginning.
_HEAD = 6
_LONGEST_NOTICE = 14
_LONGEST_DATE = 12
_SHORTEST_REPEATED = 15
_RELATED_SHARE = 0.5

_RELATED = re.compile(
    r"\W*(?:related(?: (?:articles?|stor(?:y|ies)|coverage|content|links?|news|reading|posts?))?|read (?:also|more|next)"
    r"|also read|see also|more(?: on this| from [\w .]{1,40}| stories| news)|don[’']t miss|recommended|you may also like"
    r"|watch(?: also)?|lesen sie auch|auch interessant|siehe auch|mehr (?:zum thema|dazu|lesen)|(?:à )?lire aussi"
    r"|lire (?:l[’']article|la suite|également)|voir aussi|à voir aussi|lee también|leggi anche|lees ook"
    r"|関連(?:記事|リンク|情報)|あわせて読みたい|こちらも|相关(?:阅读|新闻|文章))\s*(?:[:：|>»–—-]|$)",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"\W*(?:"
    r"advertisement|advertising|sponsored(?: content)?|ad|story continues below(?: advertisement)?"
    r"|(?:article|story) continues (?:below|after).*|continue reading(?: below| the main story)?|skip advertisement"
    r"|share(?: (?:this|on|via|with|article|story|the article)\b.*)?|tweet(?: this)?|print(?: this)?|e-?mail(?: this)?"
    r"|(?:facebook|twitter|linkedin|whatsapp|pinterest|reddit)(?:\W+(?:facebook|twitter|linkedin|whatsapp|pinterest|reddit|email|print|share))*"
    r"|(?:follow|like|join|find) (?:us|me) on\b.*|follow @?\w+ on (?:twitter|facebook|instagram|x)\b.*"
    r"|(?:sign up|subscribe|register)\b.{0,60}\b(?:newsletter|newsletters|inbox|updates|alerts)\b.*"
    r"|(?:click|tap) here to\b.*|download (?:our|the) app\b.*|leave a (?:comment|reply)|(?:view|read|post|show) (?:all )?comments?"
    r"|\d+ comments?|comments? (?:are )?(?:closed|off)|no comments(?: yet)?|loading|back to top|view (?:gallery|slideshow)"
    r"|photo(?:s)?|image|video|(?:photo|image|picture|video|file photo)s?(?: credit| by| courtesy)? ?[:/(].{0,80}"
    r"|copyright\b.*|©.*|all rights reserved.*|(?:filed under|tags?|topics?|categor(?:y|ies))\s*:.*"
    r"|anzeige|werbung|teilen|drucken|kommentare?(?: lesen| schreiben)?|newsletter(?: abonnieren)?|zur startseite|bildstrecke"
    r"|artikel (?:teilen|drucken|merken|weiterempfehlen)|publicité|partager(?: cet article| sur.*)?|imprimer|commentaires?|réagir"
    r"|inscrivez-vous à (?:la|notre) newsletter.*|広告|シェア(?:する)?|ツイート|コメント|印刷"
    r")\W*",
    re.IGNORECASE,
)
_MONTH = r"(?:jan|feb|fév|mar|mär|apr|avr|may|mai|jun|juin|jul|juil|aug|aoû|sep|oct|okt|nov|dec|dez|déc)[^\W\d]*\.?"
_DATE_WORD = re.compile(
    rf"{_MONTH}|(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|\d{1,4}(?:st|nd|rd|th|er|h\d{0,2})?\.?|\d{1,4}[-./:]\d{1,2}(?:[-./:]\d{1,4})?\.?(?:[ap]m)?"
    r"|\d{4}-\d\d-\d\dt\S+|\d{1,2}:\d\d(?::\d\d)?(?:[ap]m)?|[ap]\.?m\.?|[a-z]{2,4}t|utc|gmt|uhr|at|on|by|um|am|le|à|the|of|and|et|und|a"
    r"|published|posted|updated|last|first|modified|created|date|on|time|min|mins|minutes?|hours?|days?|ago|read"
    r"|veröffentlicht|aktualisiert|stand|vom|publié|mis|jour|modifié|mise|il|y|heures?|jours?"
    r"|\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日|更新|公開|\d{1,2}時(?:\d{1,2}分)?",
    re.IGNORECASE,
)
_BYLINE = re.compile(
    r"(?:by|von|par|por|di|door|written by|posted by|author|reported by|editing by|文|取材)\b[ :：].{2,60}",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]」』]*$")


def trimmed(lines: list[str], links: Links, *, title: str, author: str | None = None) -> list[str]:
    """The author's own lines, in their order."""
    kept = [line for line in lines if not _is_notice(line) and not _is_related(line, links)]
    kept = _without_head(_each_once(kept), links, title, author)
    return _without_tail(kept, links)


def _without_head(lines: list[str], links: Links, title: str, author: str | None) -> list[str]:
    """The title, dates and names stand before the text, in any order."""
    names = {key_of(title)} | {key_of(part) for part in re.split(r"\s+[|–—-]\s+", title)}
    head = [
        line
        for line in lines[:_HEAD]
        if not (_is_title(line, names) or _is_date(line) or _is_byline(line, author))
    ]
    rest = head + lines[_HEAD:]
    while len(rest) > 1 and key_of(rest[0]) in links.linked:
        rest.pop(0)
    return rest


def _without_tail(lines: list[str], links: Links) -> list[str]:
    """Links to what else there is, with the heading above them."""
    rest = list(lines)
    while len(rest) > 1 and _is_tail(rest[-1], links):
        rest.pop()
    return rest


def _is_tail(line: str, links: Links) -> bool:
    key = key_of(line)
    return key in links.linked or key in links.headings or _is_date(line)


def _is_title(line: str, names: set[str]) -> bool:
    return key_of(line) in names


def _is_date(line: str) -> bool:
    """Nothing but a date, perhaps with words such as "updated": at least one digit, and no other word."""
    words = [word for word in re.split(r"[\s,;|/()\[\]–—•·-]+", line) if word.strip(".:")]
    if not words or len(words) > _LONGEST_DATE or not any(char.isdigit() for char in line):
        return False
    return all(_DATE_WORD.fullmatch(word.strip(":")) for word in words)


def _is_byline(line: str, author: str | None) -> bool:
    if _SENTENCE_END.search(line) or length_in_words(line) > _LONGEST_NOTICE:
        return False
    is_named = bool(author) and key_of(author or "") in key_of(line) and length_in_words(line) <= 8
    return is_named or (_BYLINE.fullmatch(line) is not None and length_in_words(line) <= 8)


def _is_notice(line: str) -> bool:
    return length_in_words(line) <= _LONGEST_NOTICE and _NOTICE.fullmatch(line) is not None


def _is_related(line: str, links: Links) -> bool:
    """A word for it, and then a link; without a link it is a sentence that begins so."""
    if not _RELATED.match(line):
        return False
    return links.share.get(key_of(line), 0.0) >= _RELATED_SHARE or length_in_words(line) <= 3


def _each_once(lines: list[str]) -> list[str]:
    """A lead that is shown twice; refrains are shorter."""
    seen: set[str] = set()
    kept = []
    for line in lines:
        key = key_of(line)
        if key not in seen or length_in_words(line) < _SHORTEST_REPEATED:
            kept.append(line)
        seen.add(key)
    return kept
