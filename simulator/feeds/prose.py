"""Text that looks real, so that readers detect its language and its length."""

from random import Random

PARAGRAPH_WORDS = 60

_SENTENCES = {
    "en": """The harbour was quiet when the first boats came home, and nobody spoke about the weather.
She kept the letters in a drawer that had never quite closed since the flood.
Most of what we know about the old lighthouse comes from people who were afraid of it.
There is a small shop behind the station where they still repair umbrellas while you wait.
After lunch he read the page again, because the ending had not been there in the morning.
We drew the map three times before we agreed that the river had moved.
It takes about an hour to walk around the lake, unless the geese have other plans.
The new chapter is longer than the others, and it answers a question that readers asked last year.""",
    "de": """Der Hafen war still, als die ersten Boote heimkamen, und niemand sprach über das Wetter.
Sie bewahrte die Briefe in einer Schublade auf, die seit der Flut nie wieder ganz schloss.
Hinter dem Bahnhof gibt es einen kleinen Laden, in dem man noch Regenschirme repariert.
Nach dem Essen las er die Seite noch einmal, denn das Ende hatte morgens noch gefehlt.
Wir haben die Karte dreimal gezeichnet, bevor wir uns einig waren, dass der Fluss gewandert ist.
Das neue Kapitel ist länger als die anderen und beantwortet eine Frage vom letzten Jahr.""",
    "fr": """Le port était calme quand les premiers bateaux sont rentrés, et personne ne parlait du temps.
Elle gardait les lettres dans un tiroir qui ne fermait plus depuis la crue.
Derrière la gare, il y a une petite boutique où l'on répare encore les parapluies.
Après le déjeuner, il a relu la page, parce que la fin n'y était pas le matin.
Nous avons dessiné la carte trois fois avant d'admettre que la rivière avait bougé.
Le nouveau chapitre est plus long que les autres et répond à une question de l'année dernière.""",
}


def paragraphs(language: str, words: int, seed: str) -> list[str]:
    """Exactly `words` words, the same ones for the same seed; English if the language is unknown here."""
    sentences = _SENTENCES.get(language.partition("-")[0].lower(), _SENTENCES["en"]).splitlines()
    chance = Random(seed)  # noqa: S311 - a script that repeats, not a secret
    spoken: list[str] = []
    while len(spoken) < words:
        chance.shuffle(sentences)
        spoken += " ".join(sentences).split()
    return [
        " ".join(spoken[start : min(start + PARAGRAPH_WORDS, words)])
        for start in range(0, words, PARAGRAPH_WORDS)
    ]
