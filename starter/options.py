"""Options that many commands have."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
