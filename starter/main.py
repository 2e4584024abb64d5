"""The `fascicle` command."""

import sys

import click
import typer

from starter import dead_letters, library, operations, source
from starter.context import leave
from starter.output import errors
from starter.up import up

app = typer.Typer(
    help="Follows works that appear in parts: every instalment in once, every follower told once.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("up")(up)
app.command("status")(operations.status)
app.command("doctor")(operations.doctor)
app.command("config")(operations.config)
app.command("setup")(operations.setup)
app.add_typer(operations.db_app, name="db")
app.add_typer(source.app, name="source")
app.command("chapters")(library.chapters)
app.add_typer(library.user_app, name="user")
app.command("follow")(library.follow)
app.command("unfollow")(library.unfollow)
app.command("notifications")(library.notifications)
app.add_typer(dead_letters.app, name="dead-letters")


def main() -> None:
    """Run a command and leave with its exit code: 0 done, 1 failed, 2 wrong usage."""
    code = 0
    try:
        code = app(standalone_mode=False) or 0
    except click.ClickException as error:
        error.show(sys.stderr)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        code = 0
    except Exception as error:
        errors.print(f"[red]error:[/] {type(error).__name__}: {error}", markup=True)
        code = 1
    leave(code)


if __name__ == "__main__":
    main()
