"""R4: what tells an article from other pages. Articles *about* errors, logins and robots are articles."""

from typing import Any

import pytest

from fascicle.domain.errors import PermanentError
from fascicle.domain.summaries.article import Article, Candidate, check_article, length_in_words

SENTENCE = "The lighthouse keeper wrote down every ship that passed the island in the winter of that year. "
SHORT = SENTENCE * 4
LONG = SENTENCE * 12
JAPANESE = (
    "肉をくわえたイヌが、橋の上を通りかかりました。下を見ると、水の中にも肉をくわえたイヌがいます。\n" * 4
)


def _code(min_words: int = 40, **candidate: Any) -> str | None:
    candidate.setdefault("url", "https://paper.test/2026/lighthouse?token=secret")
    candidate.setdefault("visible_words", length_in_words(candidate.get("text", "")))
    try:
        check_article(Candidate(**candidate), min_words=min_words)
    except PermanentError as error:
        return error.code
    return None


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The keeper of the light", SHORT),
        ("欲張りなイヌ", JAPANESE),
        ("404 Media wins a prize", SHORT),
        ("How we built our 404 page | Blog", f"A page that says “404 not found” can be kind.\n{LONG}"),
        ("Page not found: a short history of the error", LONG),
        ("Error 404", f"The page could not be found, says the server, and means it.\n{LONG}"),
        ("Why you should never log in with Facebook", f"Please log in, says the form.\n{SHORT}"),
        ("Access denied: how a town lost its beach", SHORT),
        ("The captcha is dying", f"Verify you are human, it says, and we click.\n{LONG}"),
        ("Maintenance of old bridges", SHORT),
        ("Search for the lost ship", SHORT),
        ("Sign in the window", f"{SHORT}Subscribe to our newsletter for more of this."),
        ("Login", LONG),
    ],
)
def test_r4_articles_pass(title: str, text: str) -> None:
    assert _code(title=title, text=text) is None


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Page not found | The Paper", SENTENCE),
        ("404", "Popular now\nThe lighthouse"),
        ("Error 404 - The Paper", ""),
        ("404 Not Found", "nginx"),
        ("The Paper", "Sorry, the page you are looking for could not be found. Try the search."),
        ("The Paper", "We can’t find that page.\nIt may have moved."),
        ("Access Denied", "You don't have permission to access this on this server. Reference #18.2"),
        ("403 Forbidden", "nginx"),
        ("503 Service Temporarily Unavailable", ""),
        ("Site maintenance", "We will be back in an hour."),
        ("The Paper", "We are currently undergoing scheduled maintenance. Thank you for your patience."),
        ("Seite nicht gefunden – Die Zeitung", "Zur Startseite"),
        ("Fehler 404", "Leider wurde die Seite nicht gefunden."),
        ("Page introuvable - Le Journal", "Retour à l'accueil"),
        ("ページが見つかりません | 新聞", "トップページへ戻る"),
        ("新聞", "お探しのページは見つかりませんでした。"),
    ],
)
def test_r4_error_pages_with_a_good_status(title: str, text: str) -> None:
    assert _code(title=title, text=text) == "error_page"


def test_r4_an_error_page_with_the_news_of_the_day_below() -> None:
    assert _code(title="Page not found | The Paper", text=LONG, headlines=3) == "error_page"


@pytest.mark.parametrize(
    ("title", "text", "more"),
    [
        ("Log in | The Paper", "Email\nPassword\nForgot your password?", {}),
        ("Anmelden", "Bitte melden Sie sich an.", {}),
        ("Connexion - Le Journal", "", {}),
        ("ログイン", "パスワードをお忘れの方", {}),
        ("The keeper", "Please log in to read this story.", {}),
        ("The keeper", "Welcome back", {"asks_for_password": True}),
        ("The keeper", f"{SHORT}\nSubscribe now to continue reading.", {}),
        ("The keeper", f"{SHORT}\nThis article is exclusively for subscribers.", {}),
        ("Der Wärter", f"{SHORT}\nUm weiterzulesen, brauchen Sie ein Abo.", {}),
        ("The keeper", SHORT, {"is_restricted": True, "is_marked": True}),
    ],
)
def test_r4_login_walls(title: str, text: str, more: dict[str, Any]) -> None:
    assert _code(title=title, text=text, **more) == "login_wall"


@pytest.mark.parametrize(
    ("title", "text", "more"),
    [
        ("Just a moment...", "Enable JavaScript and cookies to continue", {}),
        ("Attention Required! | Cloudflare", "Sorry, you have been blocked", {}),
        ("paper.test", "Verify you are human by completing the action below.", {}),
        ("paper.test", "", {"is_challenge": True}),
        ("Pardon Our Interruption", SENTENCE, {}),
    ],
)
def test_r4_challenges(title: str, text: str, more: dict[str, Any]) -> None:
    assert _code(title=title, text=text, **more) == "challenge"


@pytest.mark.parametrize(
    "candidate",
    [
        {"text": "", "title": "App", "has_scripts": True},
        {"text": LONG, "linked_words": 150},
        {"text": LONG, "headlines": 6},
        {"text": LONG, "headlines": 3, "url": "https://paper.test/"},
        {"text": LONG, "headlines": 3, "url": "https://paper.test/search?q=lighthouse"},
        {"text": LONG, "headlines": 3, "title": "Search results for “lighthouse”"},
    ],
    ids=["app", "links", "teasers", "home", "search", "results"],
)
def test_r4_other_pages(candidate: dict[str, Any]) -> None:
    assert _code(**candidate) == "not_an_article"


@pytest.mark.parametrize(
    "candidate",
    [
        {"text": LONG, "url": "https://essay.test/"},
        {"text": LONG, "headlines": 5, "is_marked": True},
        {"text": LONG * 5, "headlines": 5},
        {"text": LONG, "is_challenge": True},
        {"text": LONG * 2, "is_restricted": True},
        {"text": LONG, "asks_for_password": True},
    ],
    ids=["one-page site", "marked", "long", "protected", "metered", "login in the head"],
)
def test_r4_signs_that_mean_nothing_beside_a_text(candidate: dict[str, Any]) -> None:
    assert _code(**candidate) is None


def test_r4_the_least_length_is_a_parameter() -> None:
    assert _code(text=SENTENCE) == "too_short"
    assert _code(text=SENTENCE, min_words=10) is None
    assert _code(text=JAPANESE, min_words=200) == "too_short"


def test_x7_a_refusal_says_where_and_what_to_do() -> None:
    with pytest.raises(PermanentError, match=r"paper\.test/2026/lighthouse has .* 17 words") as caught:
        check_article(Candidate(url="https://paper.test/2026/lighthouse?token=secret", text=SENTENCE))
    assert "FASCICLE_ARTICLE_MIN_WORDS" in caught.value.message
    assert "secret" not in caught.value.message


def test_r4_words_as_word_processors_count() -> None:
    assert Article(url="", title="", text="Two words").words == 2
    assert Article(url="", title="", text="欲張りなイヌ").words == 6
