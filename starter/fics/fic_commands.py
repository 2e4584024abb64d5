"""All of `fascicle fic …`."""

from starter.fics import fic_queue, fic_rules
from starter.fics.fic import app

__all__ = ["app"]

fic_queue.add_to(app)
app.add_typer(fic_rules.app, name="rules")
