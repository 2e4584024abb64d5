"""The `fascicle` command."""

import gc
import os
import sys
from typing import Annotated

import typer

from starter.lazy import LazyCommand, lazy_group
from starter.output import leave, print_error, print_json, print_line

# A test compares the summaries with what the commands say of themselves.
COMMANDS = (
    LazyCommand(
        "up",
        "starter.up:up",
        "Run the whole stack here until Ctrl-C. Services named in the environment are used instead of ours.",
    ),
    LazyCommand(
        "status",
        "starter.status:status",
        "What is there, what is going on, and what needs a person.",
    ),
    LazyCommand(
        "doctor",
        "starter.doctor:doctor",
        "Check everything and say what to do about what is wrong.",
    ),
    LazyCommand(
        "config",
        "starter.configuration:config",
        "The effective settings; secrets are masked.",
    ),
    LazyCommand(
        "setup",
        "starter.setup:setup",
        "Prepare the database and Temporal; start workflows that are missing. Repeatable.",
    ),
    LazyCommand(
        "reconcile",
        "starter.reconciling:reconcile",
        "Start every workflow that the database calls for and Temporal does not have. Repeatable.",
    ),
    LazyCommand(
        "chapters",
        "starter.library:chapters",
        "The chapters of SERIES in reading order, with where each can be read, and what is missing.",
    ),
    LazyCommand(
        "follow",
        "starter.library:add",
        "Tell USER about new chapters of SERIES. For what is followed already, the options are changed.",
    ),
    LazyCommand("unfollow", "starter.library:remove", "Stop telling USER about SERIES."),
    LazyCommand(
        "notifications",
        "starter.library:notifications",
        "What USER was told, newest first, and whether each message arrived.",
    ),
    LazyCommand("db", "starter.database_commands:db_app", "The database."),
    LazyCommand("source", "starter.source:app", "Sources: series on a site that are polled."),
    LazyCommand("site", "starter.site:app", "Sites, and the adapters that describe them."),
    LazyCommand("user", "starter.user:app", "People who follow series."),
    LazyCommand("account", "starter.account:app", "Accounts that posts are published with."),
    LazyCommand("post", "starter.post:app", "Posts: art that goes out at its time, once."),
    LazyCommand(
        "library",
        "starter.library:app",
        "What people follow, how they are told, and what they have read.",
    ),
    LazyCommand(
        "fic",
        "starter.fic_commands:app",
        "Fan fiction: works and series that are read for people.",
    ),
    LazyCommand("feed", "starter.feed:app", "Feeds: blogs, podcasts and channels into people's inboxes."),
    LazyCommand("inbox", "starter.inbox:inbox", "What reached USER, newest first."),
    LazyCommand("item", "starter.inbox:app", "Items: what feeds bring."),
    LazyCommand("run", "starter.ingestion_run:app", "Runs: every look at a feed."),
    LazyCommand(
        "summarize",
        "starter.request:summarize",
        "Have a page summarised. However many ask for it, it is read, and paid for, once.",
    ),
    LazyCommand("request", "starter.request:app", "Requests: pages that are summarised."),
    LazyCommand(
        "extract",
        "starter.extract:extract",
        "The text of an article, without the rest of its page; or why there is none. Nothing is stored.",
    ),
    LazyCommand("automation", "starter.automation:app", "Rules that publish drafts by themselves."),
    LazyCommand("sale", "starter.sale:app", "What automations put on sale."),
    LazyCommand("discord", "starter.discord:app", "The commands on Discord."),
    LazyCommand(
        "dead-letters",
        "starter.dead_letters:app",
        "What failed for good: look, replay, discard.",
    ),
    LazyCommand("payload", "starter.payload:app", "Keys that encrypt what passes through Temporal."),
    LazyCommand("schedule", "starter.schedule:app", "The periodic work."),
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
    if correlation_id:  # read by starter.context, which takes long to import
        os.environ["FASCICLE_CORRELATION_ID"] = correlation_id


def main() -> None:
    """Run a command and leave with its exit code: 0 done, 1 failed, 2 wrong usage."""
    # Most of a command's time is importing, which makes many objects and hardly any garbage.
    gc.set_threshold(100_000, 50, 100)
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
        _tell("internal_error", f"{type(error).__name__}: {error}")
        return 1
    if message := str(error.format_message()).strip():  # none where the help was shown instead
        path = getattr(getattr(error, "ctx", None), "command_path", "fascicle")
        _tell("wrong_usage", f"{message.rstrip('.')}. See `{path} --help`.")
    return int(getattr(error, "exit_code", 2))


def _tell(code: str, reason: str) -> None:
    """No command has read its options yet: whether it was to answer in JSON, only the words say."""
    if "--json" in sys.argv[1:]:
        print_json({"error_code": code, "reason": reason})
    print_error(reason)


if __name__ == "__main__":
    main()
