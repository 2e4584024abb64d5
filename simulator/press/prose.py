"""Articles of any length, whose sentences hardly repeat; unknown languages get the prose of the feeds."""

from random import Random

from simulator.feeds.prose import paragraphs as plain_paragraphs

PARAGRAPH_SENTENCES = 5

# Subjects, verbs, objects and circumstances; any combination makes a sentence.
_PARTS = {
    "en": (
        """The harbour board of Eastmere
The historian Ilse Marchetti
A group of retired ferry captains
The new director of the Tidewater Museum
The engineer Teo Brandvik
Every second household in Lanternfield
The editors of the river almanac
A committee of the regional council""",
        """published
examined
rejected
rebuilt
quietly replaced
described
photographed
paid for""",
        """the first complete map of the flooded quarter
the plans for a second lighthouse
a collection of letters from the northern islands
the timetable of the night tram
nine copper kettles from the old tea house
the report about the bridge at Saltmarsh
the machinery of the abandoned paper mill
the customs records of forty years""",
        """after the storm of last November.
because nobody else had asked for it.
although the budget had been cut twice.
while the town was preparing for the autumn fair.
and found three mistakes that had been copied ever since.
in front of a small but attentive audience.
before the lease of the building ran out.
with the help of two students from the coast.""",
    ),
    "de": (
        """Die Hafenbehörde von Ostmoor
Die Historikerin Ilse Marchetti
Eine Gruppe pensionierter Kapitäne
Der neue Leiter des Gezeitenmuseums
Der Ingenieur Teo Brandvik
Der Ausschuss des Regionalrats""",
        """veröffentlichte
untersuchte
verwarf
beschrieb
fotografierte
bezahlte""",
        """die erste vollständige Karte des überfluteten Viertels
die Pläne für einen zweiten Leuchtturm
eine Sammlung von Briefen der nördlichen Inseln
den Fahrplan der Nachtstraßenbahn
den Bericht über die Brücke im Salzmoor
die Zollbücher aus vierzig Jahren""",
        """nach dem Sturm im letzten November.
weil sonst niemand danach gefragt hatte.
obwohl das Geld zweimal gekürzt worden war.
während sich die Stadt auf den Herbstmarkt vorbereitete.
und fand dabei drei Fehler, die seither abgeschrieben wurden.
mit der Hilfe von zwei Studentinnen von der Küste.""",
    ),
}


def paragraphs(language: str, words: int, seed: str) -> list[str]:
    """At least `words` words, in whole sentences; the same ones for the same seed."""
    parts = _PARTS.get(language.partition("-")[0].lower())
    if parts is None:
        return plain_paragraphs(language, words, seed)
    choices = [part.splitlines() for part in parts]
    chance = Random(seed)  # noqa: S311 - a script that repeats, not a secret
    told: list[str] = []
    count = 0
    while count < words:
        told.append(" ".join(chance.choice(options) for options in choices))
        count += len(told[-1].split())
    return [
        " ".join(told[start : start + PARAGRAPH_SENTENCES])
        for start in range(0, len(told), PARAGRAPH_SENTENCES)
    ]
