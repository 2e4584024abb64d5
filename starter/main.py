"""The `fascicle` command."""

from importlib.metadata import version
from typing import Annotated

import typer

from starter import (
    account,
    automation,
    configuration,
    dead_letters,
    discord,
    feed,
    fic,
    fic_queue,
    fic_rules,
    inbox,
    ingestion_run,
    library,
    operations,
    post,
    sale,
    schedule,
    site,
    source,
    user,
)
from starter.context import leave
from starter.import_command import import_file
from starter.output import print_error, print_line
from starter.up import up

app = typer.Typer(
    help="Follows works that appear in parts: every instalment in once, every follower told once.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("up")(up)
app.command("status")(operations.status)
app.command("doctor")(operations.doctor)
app.command("config")(configuration.config)
app.command("setup")(operations.setup)
app.add_typer(operations.db_app, name="db")
source.app.command("import")(import_file)
app.add_typer(source.app, name="source")
app.add_typer(site.app, name="site")
app.command("chapters")(library.chapters)
app.add_typer(user.app, name="user")
app.add_typer(account.app, name="account")
app.add_typer(post.app, name="post")
app.add_typer(library.app, name="library")
fic_queue.add_to(fic.app)
fic.app.add_typer(fic_rules.app, name="rules")
app.add_typer(fic.app, name="fic")
app.add_typer(feed.app, name="feed")
app.command("inbox")(inbox.inbox)
app.add_typer(inbox.app, name="item")
app.add_typer(ingestion_run.app, name="run")
app.command("follow")(library.add)
app.command("unfollow")(library.remove)
app.command("notifications")(library.notifications)
app.add_typer(automation.app, name="automation")
app.add_typer(sale.app, name="sale")
app.add_typer(discord.app, name="discord")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(schedule.app, name="schedule")


def _print_version(wanted: bool) -> None:
    if wanted:
        print_line(f"fascicle {version('fascicle')}")
        raise typer.Exit()


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command and leave with its exit code: 0 done, 1 failed, 2 wrong usage."""
    code = 0
    try:
        code = app(standalone_mode=False) or 0
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except (BrokenPipeError, SystemExit):  # Typer turns the one into the other; whoever read is gone
        code = 0
    except Exception as error:
        code = _explain(error)
    leave(code)


def _explain(error: Exception) -> int:
    """Tell of wrong usage, whose exceptions have no public base class in Typer, or of a fault of ours."""
    if not hasattr(error, "format_message"):
        print_error(f"{type(error).__name__}: {error}")
        return 1
    if message := str(error.format_message()).strip():  # none where the help was shown instead
        path = getattr(getattr(error, "ctx", None), "command_path", "fascicle")
        print_error(f"{message.rstrip('.')}. See `{path} --help`.")
    return int(getattr(error, "exit_code", 2))


if __name__ == "__main__":
    main()
