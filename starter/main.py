"""The `fascicle` command."""

import gc
import os
import sys
from typing import Annotated

import typer

from starter.lazy import LazyCommand, lazy_group
from starter.output import leave, print_error, print_json, print_line

# A test compares the summaries with the commands' own help.
COMMANDS = (
    LazyCommand(
        "up",
        "starter.stack.up:up",
        "Run the whole stack here until Ctrl-C. Services named in the environment are used instead of ours.",
    ),
    LazyCommand(
        "status",
        "starter.operations.status:status",
        "What is there, what is going on, and what needs a person.",
    ),
    LazyCommand(
        "doctor",
        "starter.operations.doctor:doctor",
        "Check everything and say what to do about what is wrong.",
    ),
    LazyCommand(
        "config",
        "starter.operations.configuration:config",
        "The effective settings; secrets are masked.",
    ),
    LazyCommand(
        "setup",
        "starter.operations.setup:setup",
        "Prepare the database and Temporal; start workflows that are missing. Repeatable.",
    ),
    LazyCommand(
        "reconcile",
        "starter.operations.reconcile:reconcile",
        "Start every workflow that the database calls for and Temporal does not have. Repeatable.",
    ),
    LazyCommand(
        "chapters",
        "starter.series.library:chapters",
        "The chapters of SERIES in reading order, with where each can be read, and what is missing.",
    ),
    LazyCommand(
        "follow",
        "starter.series.library:add",
        "Tell USER about new chapters of SERIES. For what is followed already, the options are changed.",
    ),
    LazyCommand("unfollow", "starter.series.library:remove", "Stop telling USER about SERIES."),
    LazyCommand(
        "notifications",
        "starter.series.library:notifications",
        "What USER was told, newest first, and whether each message arrived.",
    ),
    LazyCommand("db", "starter.operations.database_commands:db_app", "The database."),
    LazyCommand("source", "starter.series.source:app", "Sources: series on a site that are polled."),
    LazyCommand("site", "starter.operations.site:app", "Sites, and the adapters that describe them."),
    LazyCommand("user", "starter.notifications.user:app", "People who follow series."),
    LazyCommand("account", "starter.publishing.account:app", "Accounts that posts are published with."),
    LazyCommand("post", "starter.publishing.post:app", "Posts: art that goes out at its time, once."),
    LazyCommand(
        "library",
        "starter.series.library:app",
        "What people follow, how they are told, and what they have read.",
    ),
    LazyCommand(
        "fic",
        "starter.fics.fic_commands:app",
        "Fan fiction: works and series that are read for people.",
    ),
    LazyCommand(
        "feed", "starter.feeds.feed:app", "Feeds: blogs, podcasts and channels into people's inboxes."
    ),
    LazyCommand("inbox", "starter.feeds.inbox:inbox", "What reached USER, newest first."),
    LazyCommand("item", "starter.feeds.inbox:app", "Items: what feeds bring."),
    LazyCommand("run", "starter.feeds.ingestion_run:app", "Runs: every look at a feed."),
    LazyCommand(
        "summarize",
        "starter.summaries.request:summarize",
        "Have a page summarised. However many ask for it, it is read, and paid for, once.",
    ),
    LazyCommand("request", "starter.summaries.request:app", "Requests: pages that are summarised."),
    LazyCommand(
        "extract",
        "starter.summaries.extract:extract",
        "The text of an article, without the rest of its page; or why there is none. Nothing is stored.",
    ),
    LazyCommand(
        "automation", "starter.publishing.automation:app", "Rules that publish drafts by themselves."
    ),
    LazyCommand("sale", "starter.publishing.sale:app", "What automations put on sale."),
    LazyCommand("discord", "starter.notifications.discord:app", "The commands on Discord."),
    LazyCommand(
        "dead-letters",
        "starter.operations.dead_letters:app",
        "What failed for good: look, replay, discard.",
    ),
    LazyCommand(
        "payload", "starter.operations.payload:app", "Keys that encrypt what passes through Temporal."
    ),
    LazyCommand("schedule", "starter.operations.schedule:app", "The periodic work."),
)

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    help="Follows works that appear in parts: every instalment in once, every follower told once.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    from importlib.metadata import version

    if wanted:
        print_line(f"fascicle {version('fascicle')}")
        raise typer.Exit()


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
    correlation_id: Annotated[
        str,
        typer.Option(
            envvar="FASCICLE_CORRELATION_ID",
            metavar="ID",
            help="What logs and workflows of this command shall be found by. Left out, it is made up.",
        ),
    ] = "",
) -> None:
    if correlation_id:  # starter.context reads it, but is slow to import
        os.environ["FASCICLE_CORRELATION_ID"] = correlation_id


def main() -> None:
    """Run a command and leave with its exit code: 0 done, 1 failed, 2 wrong usage."""
    # Most of a command's time is imports, which create many objects and hardly any garbage.
    gc.set_threshold(100_000, 50, 100)
    code = 0
    try:
        code = app(standalone_mode=False) or 0
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except (BrokenPipeError, SystemExit):  # the reader of the output is gone; Typer may raise SystemExit then
        code = 0
    except Exception as error:
        code = _explain(error)
    leave(code)


def _explain(error: Exception) -> int:
    """Print the error: wrong usage (Typer's exceptions have no public base class), or a bug of ours."""
    if not hasattr(error, "format_message"):
        _tell("internal_error", f"{type(error).__name__}: {error}")
        return 1
    if message := str(error.format_message()).strip():  # empty if the help was shown instead
        path = getattr(getattr(error, "ctx", None), "command_path", "fascicle")
        _tell("wrong_usage", f"{message.rstrip('.')}. See `{path} --help`.")
    return int(getattr(error, "exit_code", 2))


def _tell(code: str, reason: str) -> None:
    """No command has parsed its options yet, so look for `--json` in the arguments."""
    if "--json" in sys.argv[1:]:
        print_json({"error_code": code, "reason": reason})
    print_error(reason)


if __name__ == "__main__":
    main()
