"""Phrases of the page around an article, in several languages; they match whole lines, not parts of them."""

import re

from fascicle.domain.summaries.article_words import any_of

RELATED = re.compile(
    r"\W*(?:"
    + any_of(
        r"related(?: (?:articles?|stor(?:y|ies)|coverage|content|links?|news|reading|posts?))?",
        r"read (?:also|more|next)|also read|see also|watch(?: also)?|don[’']t miss|recommended",
        r"more(?: on this| from [\w .]{1,40}| stories| news)|you may also like",
        r"lesen sie auch|auch interessant|siehe auch|mehr (?:zum thema|dazu|lesen)",
        r"(?:à )?lire aussi|lire (?:l[’']article|la suite|également)|(?:à )?voir aussi",
        r"lee también|leggi anche|lees ook",
        r"関連(?:記事|リンク|情報)|あわせて読みたい|こちらも|相关(?:阅读|新闻|文章)",
    ).pattern
    + r")\s*(?:[:：|>»–—-]|$)",
    re.IGNORECASE,
)

_NETWORK = r"(?:facebook|twitter|linkedin|whatsapp|pinterest|reddit|instagram|e-?mail|print|share)"

NOTICE = re.compile(
    r"\W*(?:"
    + any_of(
        r"advertisement|advertising|ad|sponsored(?: content)?|skip advertisement|loading|back to top",
        r"(?:article|story) continues (?:below|after).*|continue reading(?: below| the main story)?",
        r"share(?: (?:this|on|via|with|article|story|the article)\b.*)?|tweet(?: this)?|print(?: this)?",
        rf"e-?mail(?: this)?|{_NETWORK}(?:\W+{_NETWORK})*",
        r"(?:follow|like|join|find) (?:us|me) on\b.*",
        r"follow @?\w+ on (?:twitter|facebook|instagram|x)\b.*",
        r"(?:sign up|subscribe|register)\b.{0,60}\b(?:newsletters?|inbox|updates|alerts)\b.*",
        r"(?:click|tap) here to\b.*|download (?:our|the) app\b.*|view (?:gallery|slideshow)",
        r"leave a (?:comment|reply)|(?:view|read|post|show) (?:all )?comments?|\d+ comments?",
        r"comments? (?:are )?(?:closed|off)|no comments(?: yet)?|photos?|image|video",
        r"(?:file )?(?:photo|image|picture|video)s?(?: credit| by| courtesy)? ?[:/(].{0,80}",
        r"copyright\b.*|©.*|all rights reserved.*|(?:filed under|tags?|topics?|categor(?:y|ies))\s*:.*",
        r"anzeige|werbung|teilen|drucken|kommentare?(?: lesen| schreiben)?|zur startseite|bildstrecke",
        r"newsletter(?: abonnieren)?|artikel (?:teilen|drucken|merken|weiterempfehlen)",
        r"publicité|partager(?: cet article| sur.*)?|imprimer|commentaires?|réagir",
        r"inscrivez-vous à (?:la|notre) newsletter.*|広告|シェア(?:する)?|ツイート|コメント|印刷",
    ).pattern
    + r")\W*",
    re.IGNORECASE,
)

DATE_WORD = any_of(
    r"(?:jan|feb|fév|mar|mär|apr|avr|may|mai|jun|juin|jul|juil|aug|aoû|sep|oct|okt|nov|dec|dez|déc)[^\W\d]*\.?",
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?",
    r"montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag",
    r"lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
    r"\d{1,4}(?:st|nd|rd|th|er|h\d{0,2})?\.?|\d{1,4}[-./:]\d{1,2}(?:[-./:]\d{1,4})?\.?(?:[ap]m)?",
    r"\d{4}-\d\d-\d\dt\S+|\d{1,2}:\d\d(?::\d\d)?(?:[ap]m)?|[ap]\.?m\.?|[a-z]{2,4}t|utc|gmt|uhr",
    r"at|on|um|am|le|à|the|of|and|et|und|published|posted|updated|last|first|modified|created|date|time",
    r"min|mins|minutes?|hours?|days?|ago|read|veröffentlicht|aktualisiert|stand|vom",
    r"publié|mis|jour|modifié|mise|il|y|a|heures?|jours?",
    r"\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日|\d{1,2}時(?:\d{1,2}分)?|更新|公開",
)

BYLINE = any_of(
    r"(?:by|von|par|por|di|door|written by|posted by|author|reported by|editing by)\b[ :].{2,60}",
    r"(?:文|取材|執筆)[ :：].{2,60}",
)
