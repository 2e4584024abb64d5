"""Phrases of pages that are no articles, in several languages; titles match as a whole, not in part."""

import re
from typing import NamedTuple

_NOTHING = re.compile(r"(?!)")


class Signs(NamedTuple):
    title: re.Pattern[str]
    """A whole title, or a whole part of one between its dashes."""
    text: re.Pattern[str]
    """At the beginning of a page that has hardly any other text."""
    ending: re.Pattern[str] = _NOTHING
    """At the end of a text that is cut off."""


def any_of(*patterns: str) -> re.Pattern[str]:
    """Any of them, in whatever case."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_STATUS = r"(?:40[0134]|410|429|451|50[0234]|52\d)"
_CODE = rf"(?:(?:error|http|fehler|erreur|エラー)\W{{0,3}})?{_STATUS}"
_WITH = rf"(?:(?:{_CODE}|error|fehler|erreur)\W{{0,3}})?(?:(?:sorry|oops|whoops|désolé|leider)\W{{1,3}})?"
_PAGE = r"(?:(?:that|this|the|your|requested|web) ?)*(?:page|file|article|url|content|document|story|post)"
_SOUGHT = r"(?: (?:that )?you(?:[’']re| are| were)? ?(?:looking for|requested|trying to (?:reach|view)))?"
_GONE = (
    r"(?: (?:can ?not|can[’']t|could not|couldn[’']t) be found| (?:was |is )?not found| is missing"
    r"| is (?:not|no longer) available| unavailable| (?:does not|doesn[’']t|no longer) exists?"
    r"| (?:has been|was) (?:removed|deleted))"
)

ERRORS = Signs(
    title=any_of(
        rf"{_CODE}(?:\W{{0,3}}(?:error|fehler|erreur|エラー))?",
        rf"{_WITH}{_PAGE}{_SOUGHT}{_GONE}",
        rf"{_WITH}(?:not found(?: error)?|forbidden|unauthori[sz]ed|bad request|bad gateway)",
        rf"{_WITH}(?:access|permission) (?:is |has been )?(?:denied|forbidden)",
        rf"{_WITH}(?:(?:internal )?server error|gateway time-?out|too many requests)",
        rf"{_WITH}(?:service|site|website|page|temporarily) (?:is )?(?:temporarily )?unavailable",
        r"error|an error (?:has )?occur?red|something went wrong|(?:page|application|database) error",
        r"(?:(?:site|website|scheduled|under|down for|closed for|server) )*maintenance(?: mode)?",
        r"we(?:[’']ll| will) be (?:right )?back(?: soon| shortly)?|(?:site|website) (?:is )?(?:offline|down)",
        r"(?:account|site|domain) (?:has been )?(?:suspended|expired|disabled)",
        r"not available in your (?:country|region)|unavailable for legal reasons",
        rf"{_WITH}(?:die |diese )?(?:seite|artikel|datei|inhalt)(?: wurde| konnte| ist)?"
        r" (?:leider )?nicht (?:gefunden(?: werden)?|verfügbar|vorhanden|erreichbar)",
        r"zugriff (?:verweigert|verboten)|wartungs(?:arbeiten|modus)|(?:ein )?fehler(?: ist aufgetreten)?",
        rf"{_WITH}(?:la |cette )?page (?:non trouvée|introuvable|inexistante|indisponible)",
        rf"{_WITH}(?:la |cette )?page n[’']existe (?:pas|plus)|accès (?:refusé|interdit)",
        r"(?:site )?en maintenance|erreur|une erreur (?:est survenue|s[’']est produite)",
        rf"{_WITH}(?:お探しの|ご指定の|該当の|指定された)?ページ[がは]?"
        r"(?:見つかりません(?:でした)?|存在しません|ありません|表示できません)",
        r"アクセスが拒否されました|アクセス(?:権限がありません|できません)|エラー",
        r"(?:ただいま)?メンテナンス中(?:です)?",
        rf"{_WITH}(?:página no encontrada|pagina non trovata|pagina niet gevonden|страница не найдена)",
        rf"acceso denegado|{_WITH}(?:页面不存在|页面未找到)",
    ),
    text=any_of(
        rf"\b{_PAGE}\b.{{0,60}}{_GONE}",
        r"\bpage (?:that )?you(?:[’']re| are| were| have)? ?(?:looking for|requested|tried)",
        r"\bwe (?:can[’']t|cannot|couldn[’']t|could not) find (?:the|that|this|your) (?:page|article|story)",
        r"\byou (?:do not|don[’']t) have (?:permission|access|authori[sz]ation) to (?:access|view)",
        r"\b(?:error|http) (?:40[034]|410|50[0234])\b|\bwas not found on this server",
        r"\b(?:undergoing|down for|performing) (?:scheduled |some |routine )?maintenance",
        r"\b(?:is temporarily unavailable|please try again later|internal server error)\b",
        r"\bnot available in your (?:country|region|location)|\bunavailable (?:in|for) (?:most )?european",
        r"\b(?:seite|artikel)\b.{0,60}\b(?:nicht gefunden|existiert nicht|nicht mehr verfügbar)",
        r"\bpage\b.{0,60}\b(?:introuvable|n[’']existe (?:pas|plus)|pas été trouvée)",
        r"\bwegen wartungsarbeiten\b|\b(?:en cours de|site en) maintenance\b",
        r"ページ.{0,30}(?:見つかりません|存在しません|削除されました)|メンテナンス中",
    ),
)

CHALLENGES = Signs(
    title=any_of(
        r"just a moment|attention required!?|one moment,? please|please wait",
        r"checking your browser(?: before.*)?",
        r"ddos-guard|are you (?:a )?(?:human|robot)\??|robot check|bot (?:check|verification)|captcha",
        r"(?:human|security) (?:verification|check|challenge)|client challenge|pardon our interruption",
        r"verif(?:y|ying) (?:that )?you are (?:a )?human|access to this page has been denied",
        r"nur einen moment|un instant|un momento|しばらくお待ちください",
    ),
    text=any_of(
        r"\b(?:checking|verifying) (?:if the site connection is secure|your browser|(?:that )?you are human)",
        r"\b(?:verify|confirm|prove) (?:that )?you(?:[’']re| are) (?:a |not a )?(?:human|robot|real person)",
        r"\benable javascript and cookies to continue|\bddos protection by|\bcloudflare ray id",
        r"\bcomplete the (?:security check|captcha)|\bunusual (?:traffic|activity) from your",
        r"\b(?:using automation tools|made us think (?:that )?you(?:[’']re| are) a bot)",
        r"\bplease (?:enable|turn on) (?:js|javascript) and (?:disable any ad ?blocker|cookies)",
    ),
)

_LOG_IN = r"(?:log[ -]?in|sign[ -]?in|log on)"
_SIGN_UP = r"(?:subscribe|register|sign up|log in|sign in|become a (?:member|subscriber))"

LOGINS = Signs(
    title=any_of(
        rf"(?:please |member |user |account |subscriber )?{_LOG_IN}(?: page| required| here)?",
        rf"{_LOG_IN} (?:or|and|/) (?:register|sign up|create an account|subscribe)",
        rf"(?:please )?{_LOG_IN} to (?:continue|your account|(?:view|read|access)\b.{{0,40}})",
        r"(?:create|register) (?:an |your |a free )?account|subscribe to (?:continue|read)(?: reading)?",
        r"(?:login|registration|subscription|authentication) required|(?:subscribers?|members?) only",
        r"(?:bitte )?(?:anmelden|einloggen|anmeldung)|(?:se connecter|connexion)",
        r"identifiez-vous|connectez-vous|iniciar sesión|inicia sesión|accedi|inloggen|登录|вход",
        r"ログイン(?:ページ|画面|が必要です)?|会員(?:限定|登録|ログイン)",
    ),
    text=any_of(
        rf"\b(?:please |must |need to |have to |required to ){_LOG_IN}\b",
        rf"\b{_LOG_IN} (?:to (?:continue|view|read|access|see|your account)|with (?:facebook|google|apple))",
        r"\b(?:forgot|reset|lost) (?:your )?password\b|\balready (?:have an account|a (?:subscriber|member))",
        rf"\b{_SIGN_UP} (?:now )?to (?:continue|keep|read|unlock|access)",
        r"\b(?:exclusively|only|available) (?:for|to) (?:our )?(?:paying )?(?:subscribers|members)\b",
        r"\b(?:melden sie sich|bitte (?:melden|loggen)|passwort vergessen|jetzt (?:anmelden|einloggen))\b",
        r"\b(?:connectez-vous|identifiez-vous|mot de passe oublié|réservé aux abonnés|déjà abonné)",
        r"ログインして|ログインが必要|パスワードをお忘れ|会員限定|有料会員",
    ),
    ending=any_of(
        rf"\b{_SIGN_UP}\b.{{0,40}}\bto (?:continue|keep) reading",
        rf"\b{_SIGN_UP}\b.{{0,40}}\bto read (?:the (?:full|rest|whole)|this|more)",
        rf"\bto (?:continue|keep) reading,? (?:please )?(?:create|{_SIGN_UP})",
        r"\bthis (?:article|story|content|post) is (?:only |exclusively )?(?:available |reserved )?(?:for|to)"
        r" (?:our )?(?:paid |paying |premium )?(?:subscribers|members)",
        r"\balready a (?:subscriber|member)\?|\d+ ?% of (?:this|the) (?:article|story) (?:remains|is left)",
        r"\b(?:weiterlesen mit|um weiterzulesen|(?:exklusiv|nur) für abonnenten)",
        r"\b(?:la suite est réservée|article (?:est )?réservé aux abonnés|il vous reste [\d.,]+ ?% de cet)",
        r"\bpour lire la suite,? (?:abonnez|connectez|identifiez)",
        r"(?:続き|全文)[をは].{0,20}(?:会員|ログイン|有料|登録)|(?:この記事は|ここから先は)(?:有料)?会員限定",
    ),
)

LISTINGS = Signs(
    title=any_of(
        r"search(?: results?)?(?: (?:for|page)\b.*)?|results for .*|archives?|sitemap|latest news",
        r"suchergebnisse?.*|résultats? de (?:la )?recherche.*|検索結果.*|.*の検索結果",
        r"categor(?:y|ies)\b.*|tags?\b.*|all (?:posts|articles)",
    ),
    text=_NOTHING,
)
