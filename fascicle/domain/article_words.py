"""How pages that are no articles speak, in the languages of the web; whole titles, not words within them."""

import re
from typing import NamedTuple

_NOTHING = re.compile(r"(?!)")


class Signs(NamedTuple):
    title: re.Pattern[str]
    """A whole title, or a whole part of one between its dashes."""
    text: re.Pattern[str]
    """In the beginning of a page that hardly says anything else."""
    ending: re.Pattern[str] = _NOTHING
    """At the end of a text that is broken off."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_CODE = r"(?:error\W{0,3}|http\W{0,3}|fehler\W{0,3}|erreur\W{0,3}|エラー\W{0,3})?(?:40[0134]|410|429|50[0234]|52\d)"

ERRORS = Signs(
    title=_any(
        rf"{_CODE}(?:\W{{0,3}}error|\W{{0,3}}fehler|エラー)?",
        rf"(?:{_CODE}\W{{0,3}})?(?:(?:sorry|oops|whoops)\W{{1,3}})?(?:that |this |the |requested )*(?:web ?)?"
        r"(?:page|file|article|url|content|document|story|post|resource)?"
        r"(?:(?: you(?:'|’)?(?: a)?re looking for| you (?:requested|are looking for))?"
        r"(?: (?:can ?not|could ?n[o’']t|can[’']t|could not|was not|is not|has not been|not) be found"
        r"| (?:was |is )?not found| is (?:not|no longer) available| does(?:n[’']t| not) exist"
        r"| (?:has been|was) (?:removed|deleted)| is missing| unavailable))",
        rf"(?:{_CODE}\W{{0,3}})?not found(?: error)?",
        rf"(?:{_CODE}\W{{0,3}})?(?:access|permission) (?:is |has been )?(?:denied|forbidden)",
        rf"(?:{_CODE}\W{{0,3}})?forbidden|(?:{_CODE}\W{{0,3}})?unauthori[sz]ed|(?:{_CODE}\W{{0,3}})?bad request",
        rf"(?:{_CODE}\W{{0,3}})?(?:internal )?server error|(?:{_CODE}\W{{0,3}})?bad gateway",
        rf"(?:{_CODE}\W{{0,3}})?gateway time-?out|(?:{_CODE}\W{{0,3}})?too many requests",
        rf"(?:{_CODE}\W{{0,3}})?(?:service|site|website|page|temporarily) (?:is )?(?:temporarily )?unavailable",
        r"error|an error (?:has )?occur?red|something went wrong|page error|application error|database error",
        r"(?:(?:site|website|scheduled|under|down for|closed for|we are under|server) )*maintenance(?: mode)?",
        r"we(?:'|’)?ll be (?:right )?back(?: soon| shortly)?|(?:site|website) (?:is )?(?:offline|down)",
        r"(?:account|site|domain) (?:has been )?(?:suspended|expired|disabled)",
        r"not available in your (?:country|region)|unavailable for legal reasons|451\W.*",
        rf"(?:{_CODE}\W{{0,3}})?(?:die |diese )?(?:seite|artikel|datei|inhalt)(?: wurde| konnte| ist)?"
        r" (?:leider )?(?:nicht (?:gefunden(?: werden)?|verfügbar|vorhanden|erreichbar))",
        r"zugriff (?:verweigert|verboten)|wartungsarbeiten|wartungsmodus|(?:ein )?fehler(?: ist aufgetreten)?",
        rf"(?:{_CODE}\W{{0,3}})?(?:la |cette )?page (?:non trouvée|introuvable|n[’']existe (?:pas|plus))",
        rf"(?:{_CODE}\W{{0,3}})?page (?:inexistante|indisponible)|accès (?:refusé|interdit)",
        r"(?:site )?en maintenance|erreur|une erreur (?:est survenue|s[’']est produite)",
        rf"(?:{_CODE}\W{{0,3}})?(?:お探しの|ご指定の|該当の|指定された)?ページ(?:が|は)?"
        r"(?:見つかりません(?:でした)?|存在しません|ありません|表示できません)",
        r"アクセスが拒否されました|アクセス(?:権限がありません|できません)|(?:ただいま)?メンテナンス中(?:です)?|エラー",
        rf"(?:{_CODE}\W{{0,3}})?página no encontrada|acceso denegado|(?:{_CODE}\W{{0,3}})?pagina non trovata",
        rf"(?:{_CODE}\W{{0,3}})?pagina niet gevonden|(?:{_CODE}\W{{0,3}})?страница не найдена|页面不存在|页面未找到",
    ),
    text=_any(
        r"\bpage (?:that )?(?:you(?:'|’)?(?:[’']?re| are| were)?|we) (?:are |were )?(?:looking for|requested|tried)",
        r"\b(?:page|url|article|story|file|content|resource)\b.{0,60}\b(?:could not be|couldn[’']t be|can ?not be|"
        r"can[’']t be|was not|wasn[’']t|were not|not) found\b",
        r"\b(?:page|article|story|content) (?:does not exist|doesn[’']t exist|no longer exists"
        r"|is no longer available|has been (?:removed|deleted|moved))",
        r"\bwe (?:can[’']t|cannot|couldn[’']t|could not) find (?:the|that|this|your) (?:page|article|story)",
        r"\byou (?:do not|don[’']t) have (?:permission|access|authori[sz]ation) to (?:access|view)",
        r"\b(?:error|http) (?:40[034]|410|50[0234])\b",
        r"\b(?:undergoing|down for|performing) (?:scheduled |some |routine )?maintenance",
        r"\b(?:temporarily unavailable|try again later|back (?:soon|shortly)|internal server error)\b",
        r"\bnot available in your (?:country|region|location)|\bunavailable (?:in|for) (?:most )?european",
        r"\bthe (?:requested )?(?:url|resource) was not found on this server",
        r"\b(?:seite|artikel)\b.{0,60}\b(?:nicht gefunden|existiert nicht|nicht mehr verfügbar|nicht vorhanden)",
        r"\bwartungsarbeiten\b|\bpage\b.{0,60}\b(?:introuvable|n[’']existe (?:pas|plus)|pas été trouvée)",
        r"\ben (?:cours de )?maintenance\b",
        r"ページ.{0,30}(?:見つかりません|存在しません|削除|移動)|メンテナンス中|アクセスできません",
    ),
)

CHALLENGES = Signs(
    title=_any(
        r"just a moment|attention required.*|one moment,? please|please wait|checking your browser.*",
        r"(?:ddos-guard|are you (?:a )?(?:human|robot)\??|robot check|bot (?:check|verification)|captcha)",
        r"(?:human|security) (?:verification|check|challenge)|verif(?:y|ying) (?:that )?you are (?:a )?human",
        r"pardon our interruption|access to this page has been denied|unusual traffic.*|client challenge",
        r"nur einen moment|un instant|un momento|しばらくお待ちください",
    ),
    text=_any(
        r"\b(?:checking|verifying) (?:if the site connection is secure|your browser|(?:that )?you are (?:a )?human)",
        r"\b(?:verify|confirm|prove) (?:that )?you(?:'|’)?(?: a)?re (?:a |not a )?(?:human|robot|real person)",
        r"\benable javascript and cookies to continue|\bddos protection by|\bcloudflare ray id",
        r"\bcomplete the (?:security check|captcha)|\bunusual (?:traffic|activity) from your",
        r"\b(?:not a robot|using automation tools|automated access|made us think (?:that )?you(?:'|’)?(?: a)?re a bot)",
        r"\bplease (?:enable|turn on) (?:js|javascript) and (?:disable any ad ?blocker|cookies)",
    ),
)

_LOG_IN = r"(?:log(?: ?|-)in|sign(?: ?|-)in|log on)"

LOGINS = Signs(
    title=_any(
        rf"(?:please |member |user |account |subscriber )?{_LOG_IN}(?: page| required| here| (?:or|and) (?:register|sign up"
        r"|create an account|subscribe)| to (?:continue|your account|view this page|read more|[\w. ]{1,30}))?",
        r"(?:create|register) (?:an |your |a free )?account|subscribe to (?:continue|read)|(?:login|registration) required",
        r"subscription required|subscribers? only|members? only|authentication required",
        r"(?:bitte )?(?:anmelden|einloggen|anmeldung|login)|(?:se connecter|connexion|identifiez-vous|connectez-vous)",
        r"ログイン(?:ページ|画面|が必要です)?|会員(?:限定|登録|ログイン)|iniciar sesión|inicia sesión|accedi|inloggen|登录|вход",
    ),
    text=_any(
        rf"\b(?:please |must |need to |have to |required to ){_LOG_IN}\b",
        rf"\b{_LOG_IN} (?:to (?:continue|view|read|access|see|your account)|with (?:your|facebook|google|apple|email))",
        r"\b(?:forgot|reset|lost) (?:your )?password\b|\balready (?:have an account|a (?:subscriber|member))\b",
        r"\b(?:subscribe|register|sign up|become a (?:member|subscriber)) (?:now )?to (?:continue|keep|read|unlock|access)",
        r"\b(?:exclusively|only|available) (?:for|to) (?:our )?(?:paying )?(?:subscribers|members)\b",
        r"\b(?:melden sie sich|bitte (?:melden|loggen)|passwort vergessen|jetzt (?:anmelden|einloggen))\b",
        r"\b(?:connectez-vous|identifiez-vous|mot de passe oublié|réservé aux abonnés|déjà abonné)",
        r"ログインして|ログインが必要|パスワードをお忘れ|会員限定|有料会員",
    ),
    ending=_any(
        r"\b(?:subscribe|register|sign up|log in|sign in|become a (?:member|subscriber))\b.{0,40}\bto"
        r" (?:continue|keep) reading",
        r"\b(?:subscribe|register|log in|sign in|sign up)\b.{0,40}\bto read (?:the (?:full|rest|whole)|this|more)",
        r"\bto (?:continue|keep) reading,? (?:please )?(?:subscribe|register|log in|sign in|create|become)",
        r"\bthis (?:article|story|content|post) is (?:only |exclusively )?(?:available )?(?:for|to|reserved for)"
        r" (?:our )?(?:paid |paying |premium )?(?:subscribers|members)",
        r"\b(?:already a (?:subscriber|member)\?|\d+ ?% of (?:this|the) (?:article|story) (?:remains|is left))",
        r"\b(?:weiterlesen mit|jetzt weiterlesen mit|um weiterzulesen|exklusiv für abonnenten|nur für abonnenten)",
        r"\b(?:la suite est réservée|article (?:est )?réservé aux abonnés|il vous reste [\d.,]+ ?% de cet article)",
        r"\bpour lire la suite,? (?:abonnez|connectez|identifiez)|(?:続き|全文)(?:を|は).{0,20}(?:会員|ログイン|有料|登録)",
        r"(?:この記事は|ここから先は)?(?:有料)?会員限定",
    ),
)

LISTINGS = Signs(
    title=_any(
        r"search(?: results?)?(?: (?:for|page)\b.*)?|results for .*|suchergebnisse?.*|résultats? de (?:la )?recherche.*",
        r"検索結果.*|.*の検索結果|archives?|categor(?:y|ies)\b.*|tags?\b.*|sitemap|all (?:posts|articles)|latest news",
    ),
    text=_NOTHING,
)
