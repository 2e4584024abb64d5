"""All of `fascicle source …`."""

from starter.import_command import import_file
from starter.source import app

__all__ = ["app"]

app.command("import")(import_file)
