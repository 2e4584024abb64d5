"""Words of four letters and more that are in every text, and say nothing about its subject."""

_ENGLISH = """
about above after again also although always among another around because been before being below between
both cannot could does doing down during each either else even ever every first from further have having
here however into itself just last least less like made make many might more most much must near never
next none nothing often once only other others ours over perhaps rather said same says several shall
should since some something soon still such than that their theirs them then there therefore these they
thing things this those though three through time together under until upon very want well were what when
where whether which while whole whose will with within without would year years your
"""
_GERMAN = """
dabei daher darauf darüber davon dafür drei fünf ganz heute jedoch seinem vier weil während zwei
aber alle allem allen aller alles also andere anderen auch beim bereits damit dann dass dazu dein denn
deren diese diesem diesen dieser dieses doch dort durch eine einem einen einer eines einige etwa etwas
euch gegen habe haben hatte hatten hier ihre ihrem ihren ihrer immer jede jedem jeden jeder jedes jetzt
kann kein keine können mehr mein meine mich muss müssen nach nicht nichts noch oder ohne schon sehr sein
seine seinem seinen seiner seit selbst sich sind sollen sollte sondern über unter viel viele wann warum
weil weiter welche wenn werden wieder will wird wurde wurden zwar zwischen
"""
_FRENCH = """
alors après assez aussi autre autres avait avant avec avoir beaucoup cela celle celui cette ceux chaque
comme comment contre dans depuis deux dire donc elle elles encore entre était être faire fait faut fois
jamais leur leurs lors mais même mêmes moins nous notre parce peut peuvent plus plusieurs pour pourquoi
quand quelque quelques quoi sans sera seulement sont sous souvent suis sur tous tout toute toutes très
trop vers vous votre
"""
_SPANISH = """
algo algunos ante antes aquel aunque cada como cómo contra cual cuando desde donde durante ella ellas
ellos entonces esta está están este estos haber había hace hacer hacia hasta mientras mucho muchos nada
nosotros nunca otra otro otros para pero poco porque puede pueden qué quien sido siempre sino sobre
también tanto tiene tienen toda todas todo todos unas unos usted
"""

GRAMMAR_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH}".split())
