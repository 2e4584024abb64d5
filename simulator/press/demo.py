"""The demo's short articles."""

from datetime import timedelta

from simulator.press.press import Press
from simulator.press.records import ArticleSpec

# The article whose summary the demo asks for.
DEMO_ARTICLE = "the-lighthouse-nobody-ordered"
ARTICLES = (
    ArticleSpec(title="The Lighthouse Nobody Ordered", slug=DEMO_ARTICLE, words=350, author="Ilse Marchetti"),
    ArticleSpec(title="Nine Kettles Return to the Tea House", words=280, author="Sunniva Okafor"),
    ArticleSpec(
        title="Die Nachtstraßenbahn fährt wieder",
        slug="nachtstrassenbahn",
        words=300,
        language="de",
        author="Pax Lindqvist",
    ),
)


def add_demo_articles(press: Press) -> None:
    for age, spec in enumerate(ARTICLES, 1):
        press.add(spec.model_copy(update={"published_at": press.now() - timedelta(days=age)}))
